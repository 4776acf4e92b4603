"""What is said by runs, their sinks and their status."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note, refusal
from anabranch.spark.messages import RAISE_HEAP

_CHECKPOINT_ONLY = "--checkpoint-only   rewinds the checkpoint and leaves the sink as it is"

# What a rewind does at the sink: lines of its plan.
SINK_WAS_LEFT = note("sink-was-left", "left as it is: the rewind did nothing there")
SINK_EMITS_AGAIN = note("sink-emits-again", "left as it is; results are emitted again")
SINK_UNKNOWN_LEFT = note(
    "sink-unknown-left",
    "left as it is. A Delta table skips every batch id that it has seen: batches run again and write nothing, and with other"
    " boundaries records are lost without an error. A file sink skips them too. A sink that appends rows has them twice",
)
CONSOLE_PRINTS_AGAIN = note("console-prints-again", "nothing can be taken back on a console; the batches print again")
TOPIC_EMITS_AGAIN = note(
    "topic-emits-again", "topic {topic}: results are emitted again under the same key, the latest wins ({about:, })"
)
TOPIC_WITHOUT_KEYS = note(
    "topic-without-keys", "topic {topic}: its results have no key, so readers see those of batches {batch} and later twice"
)
TOPIC_KEYS = note("topic-keys", "{keys:#key}")
TOPIC_NOT_COUNTED = note("topic-not-counted", "keys not counted: it holds {records:,} records")
TOPIC_OVERWRITES_CORRECTED = note(
    "topic-overwrites-corrected", "{keys:,} of them were corrected since and are overwritten: reprocess again afterwards"
)
TOPIC_COUNTS_GO_DOWN = note("topic-counts-go-down", "meanwhile readers see counts go down and up again")
TABLE_SKIPS_BATCHES = note(
    "table-skips-batches",
    "left as it is. A Delta table skips every batch id that it has seen: batches run again and write nothing, and with other"
    " boundaries records are lost without an error",
)
TABLE_NOT_REACHED = note("table-not-reached", "table {table}: no batch from {batch} on has reached it, nothing to take back")
ROWS_DELETED = note(
    "rows-deleted",
    "table {table}: {rows:#row} of these batches are deleted by their offsets, and the query's transaction is set"
    " from {newest} to {set_back_to}, in one commit; other writers' rows stay",
)
ROWS_RESTORED = note(
    "rows-restored",
    "table {table}: {rows:#row} are restored, and the query's transaction is set from {set_back_to} to {newest}, in one commit",
)
TABLE_NOT_REWINDABLE = refusal(
    "table-not-rewindable",
    "table {table} cannot be rewound: {why}",
    "anabranch run {pipeline} --to table:ANOTHER   writes all that Kafka retains to another table, with its own checkpoint",
    _CHECKPOINT_ONLY,
)
QUERY_ID_MISSING = refusal(
    "query-id-missing",
    "table {table} cannot be rewound: the checkpoint's metadata does not name the query whose batches Delta knows",
    "anabranch checkpoint   says what is wrong with it",
    _CHECKPOINT_ONLY,
)
TABLE_RAN_AGAIN = refusal(
    "table-ran-again", "{operation} cannot be undone, the query has run since: batch {batch} has reached {table}"
)

# Before a query starts.
TOPIC_CREATED = note("topic-created", "{pipeline}: created topic {topic} with {partitions:#partition}")
FIRST_START = note("first-start", "{pipeline}: first start, {where} {topic}")
RESUMES = note("resumes", "{pipeline}: resumes after batch {batch}")
REPEATS_BATCH = note(
    "repeats-batch", "{pipeline}: batch {batch} was planned and not committed, it runs again with the same range"
)
TOOK_OVER = note("took-over", "{pipeline}: took over from a process that died ({holder})")
CHANGED = note("changed", "{pipeline}: {change}")
NOTHING_COMPARED = note(
    "nothing-compared", "{pipeline}: what its checkpoint was made with is not written down, so nothing was compared"
)
OFFSETS_LOST = refusal("offsets-lost", "{pipeline} cannot resume where it stopped, and nothing was skipped: {why}", "{ways}")
CHECKPOINT_DIFFERS = refusal("checkpoint-differs", "{pipeline} cannot resume on this checkpoint: {why}", "{ways}")
OTHER_QUERY_ID = refusal(
    "other-query-id",
    "{pipeline} cannot resume: the file metadata of its checkpoint names the query {now}, it ran as {before}",
    "if metadata was changed, write the id back: "
    """echo '{{"id":"{before}"}}' > "{checkpoint}/metadata" && rm -f "{checkpoint}/.metadata.crc\"""",
    "if another checkpoint was put here, set aside what was noted of the one before: "
    'mv "{checkpoint}.baseline.json" "{checkpoint}.baseline.json.old"',
)
WAY_RESTORE_SETTING = note("way-restore-setting", "restore the earlier setting, in anabranch.toml or on the command line")
WAY_OWN_SINK = note("way-own-sink", "anabranch run {pipeline} --to {sink}   continues where this checkpoint belongs")
WAY_OWN_KAFKA = note("way-own-kafka", "set kafka.bootstrap_servers in anabranch.toml to the earlier cluster")
WAY_SET_ASIDE = note(
    "way-set-aside", "to start again from what Kafka retains, set the checkpoint aside, then run it: {command}"
)
WAY_REPROCESS_AFTERWARDS = note(
    "way-reprocess-afterwards",
    "windows of which Kafka retains only a part come out too low then: anabranch reprocess {pipeline}   corrects them"
    " from the lake",
)

PARTITIONS_NOT_CHOSEN = refusal(
    "partitions-not-chosen",
    "{pipeline} starts for the first time, on a cluster that gives it {cores} cores, and the number of its state partitions,"
    " which its checkpoint fixes for good, is not given",
    "anabranch run {called} --master {master} --set spark.sql.shuffle.partitions={partitions}   is one for each core; up to"
    " three for each that it will ever have are good",
    "or for all pipelines, in anabranch.toml, under [spark]:  sql.shuffle.partitions = {partitions}",
)

# Before a query starts on a table.
_RESTORE_TABLE = "restore the table that it wrote to, then run it again"
_NEW_TABLE = "set its checkpoint aside and run it: it writes all that Kafka retains to a new table: {set_aside}"
TABLE_VANISHED = refusal(
    "table-vanished",
    "{pipeline} cannot resume: there is no table at {table}, and its checkpoint has committed batches up to {batch} there",
    _RESTORE_TABLE,
    "or " + _NEW_TABLE,
)
TABLE_REPLACED = refusal(
    "table-replaced",
    "{pipeline} cannot resume: the table at {table} is not the one that it wrote to: {why}",
    _RESTORE_TABLE,
    "or move this table away, " + _NEW_TABLE,
)
OTHER_TABLE_ID = note("other-table-id", "it has the id {now}, the other one had {before}")
NO_BATCH_IN_TABLE = note(
    "no-batch-in-table", "it knows no batch of this query, and the checkpoint has committed batches up to {batch}"
)
TABLE_BEHIND = refusal(
    "table-behind",
    "{pipeline} cannot resume: the table at {table} has its batches up to {newest}, its checkpoint has committed up to {batch}",
    _RESTORE_TABLE,
    "if it is an older copy: anabranch rewind {called} --to-batch {next} --checkpoint-only   takes the checkpoint back to it",
    "or move this table away, " + _NEW_TABLE,
)
TABLE_HOLDS_RECORDS = refusal(
    "table-holds-records",
    "{pipeline} would write records to {table} a second time: it holds {held} already",
    "anabranch run {called} --from-sink   continues behind what the table holds",
    "anabranch run {pipeline} --to table:ANOTHER   writes another table, with a checkpoint of its own",
    'mv "{table}" "{table}.old"   sets the table aside: the next run writes a new one with what Kafka retains',
)
HELD_OFFSETS = note("held-offsets", "{count:,} records of {topic} partition {partition}, offsets {first} to {last}")
TABLE_HOLDS_ROWS = refusal(
    "table-holds-rows",
    "{pipeline} starts for the first time, and the table at {table} holds rows already: results could be there twice",
    "anabranch run {pipeline} --to table:ANOTHER   writes another table, with a checkpoint of its own",
    'mv "{table}" "{table}.old"   sets the table aside: the next run writes a new one',
)
NOT_IN_TABLE = note(
    "not-in-table",
    "{pipeline}: the table lacks {count:,} offsets of {topic} partition {partition} between {first} and {last}, and they are"
    " not read now",
)
TABLE_OF_OTHER_RECORDS = refusal(
    "table-of-other-records",
    "{pipeline} cannot continue behind what {table} holds: {topic} partition {partition} has another record at offset {offset}",
    "anabranch run {pipeline} --to table:ANOTHER   writes another table, with a checkpoint of its own",
)
NO_SINK_TO_CONTINUE = refusal(
    "no-sink-to-continue",
    "--from-sink needs a table whose rows name the topic, partition and offset of their records: {sink} is none",
    "anabranch run {pipeline}   starts from the beginning of its topic",
)

# While it runs.
DATA_LOST = failure(
    "data-lost",
    "{pipeline} stopped, and nothing was skipped: Kafka no longer has what the next batch needs. {reason}",
    "full log: {log}",
)
QUERY_FAILED = failure(
    "query-failed",
    "{pipeline} failed: {reason}",
    "full log: {log}",
    "anabranch run {pipeline}   resumes from its last committed batch",
)
TRANSFORM_FAILED = failure(
    "transform-failed",
    "{pipeline} failed at {where}: {kind}: {sentence}",
    "correct that line, or the record that it cannot take; anabranch check {pipeline}   judges it without data",
    "anabranch run {pipeline}   resumes from its last committed batch",
    "full log: {log}",
)
REHEARSAL_FAILED = failure("rehearsal-failed", "{where}: {kind}: {sentence}", "correct that line")
OUT_OF_MEMORY = failure(
    "out-of-memory",
    "{pipeline} failed: Java ran out of memory: {reason}",
    RAISE_HEAP,
    "full log: {log}",
    "anabranch run {pipeline}   resumes from its last committed batch",
)
QUERY_FORBIDDEN = failure(
    "query-forbidden",
    "{pipeline} failed: permission denied: {reason}",
    "let this user read and write there, or run the command as its owner; namei -l PATH   shows who may",
    "full log: {log}",
    "anabranch run {pipeline}   resumes from its last committed batch",
)
RUN_RESUMES = note("run-resumes", "anabranch run {pipelines: }   resumes from the last committed batch")
WAITS_FOR_KAFKA = note("waits-for-kafka", "Kafka was unreachable and ended it; it restarts on its checkpoint")
WAITS_FOR_WORKER = note(
    "waits-for-worker", "a Python worker took more than 10 seconds to start and Spark ended it; it restarts on its checkpoint"
)
WAITS_FOR_EXECUTORS = note(
    "waits-for-executors",
    "the cluster has no executor left for it; it resumes as soon as a worker gives one. Ctrl-C twice stops it now, and its"
    " batch runs again at the next start",
)
OUTPUT_CLOSED = note(
    "output-closed-under-a-run",
    "nobody reads the output any more, so the run was stopped; a batch that could not be printed was not committed,"
    " and prints again at the next start",
)
STOPS_AFTER_BATCH = note("stops-after-batch", "after the batch under way")
LATE = note("late", "{late:,} late, not counted")
LATE_ABOUT = note("late-about", "about {late:,} late, not counted")
ALL_LATE = note("all-late", "EVERY ROW IS TOO LATE, NONE IS COUNTED")
JUMPED = note("jumped", "{pipeline}: {jump}")
WATERMARK_JUMP = refusal(
    "watermark-jump",
    "{pipeline} stopped before batch {batch}, which has written nothing: {jump}. More than {limit} is not allowed by its"
    " setting watermark_jump",
    "if the jump is right: anabranch run {called} --allow-watermark-jump   lets this batch pass",
    'if it is not: anabranch rewind {called} {target}, then set skip = ["{record}"] in [pipeline.{pipeline}] of'
    " anabranch.toml, then: anabranch run {called}",
)

# What a status and a history say.
NOT_READABLE = failure("not-readable", "{path} cannot be read: {reason}", "check its owner and its permissions: ls -ld {path}")
NOTHING_HAS_RUN = note(
    "nothing-has-run",
    "no pipeline has run in this project yet",
    "anabranch run {pipeline}   starts one",
    "anabranch status --all   lists those that there are",
)
UNFINISHED_BATCH = note("unfinished-batch", "batch {batch} was planned and not committed, it runs again at the next start")
CLOCKS_DIFFER = note("clocks-differ", "its last batch is dated {ahead} ahead of this machine's clock")
NEVER_RAN_THERE = misuse(
    "never-ran-there", "{pipeline} has no history for {sink}: it has not run there", "anabranch run {pipeline}{to}", "{others}"
)
HISTORY_GONE = failure(
    "history-gone", "{pipeline} has no history to show: {why}", "the next batch that it runs begins a new one"
)
PERIOD_EMPTY = misuse("period-empty", "--last {last} is no period", "--last 1h")
NO_LONGER_DECLARED = note(
    "no-longer-declared", "{pipeline} is not declared any more; its checkpoint is, as the definition beside it says"
)
