"""What is said by runs, their sinks and their status."""

from __future__ import annotations

from anabranch.errors import failure, note, refusal
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
FIRST_START = note("first-start", "{pipeline}: first start, from the {where} of {topic}")
RESUMES = note("resumes", "{pipeline}: resumes after batch {batch}")
REPEATS_BATCH = note(
    "repeats-batch", "{pipeline}: batch {batch} was planned and not committed, it runs again with the same range"
)
TOOK_OVER = note("took-over", "{pipeline}: took over from a process that died ({holder})")
OFFSETS_LOST = refusal(
    "offsets-lost",
    "{pipeline} cannot resume where it stopped, and nothing was skipped: {why}",
    "to start again from what Kafka retains, set the checkpoint aside: mv {checkpoint} {checkpoint}.old",
)
CHECKPOINT_DIFFERS = refusal(
    "checkpoint-differs",
    "{pipeline} cannot resume on this checkpoint: {why}",
    "restore the earlier setting, in anabranch.toml or on the command line",
    "to start again from what Kafka retains, set the checkpoint aside: mv {checkpoint} {checkpoint}.old",
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
STOPS_AFTER_BATCH = note("stops-after-batch", "after the batch under way")
