"""What is said about checkpoints: findings, why a batch is not restartable, and why a command is refused."""

from __future__ import annotations

from anabranch.errors import failure, finding, misuse, note, refusal

# Findings: something about a checkpoint that a person should know before trusting it. Their codes are stable.
FENCE = finding(
    "fence",
    "an operation on this checkpoint is not finished: its fence makes every start fail with INVALID_LOG_VERSION",
    "anabranch operations names the operation; anabranch resume ID finishes it, anabranch undo ID rolls it back",
)
JOURNAL = finding(
    "journal",
    "the journal of an operation that is not finished; Spark does not read it",
    "anabranch operations names the operation; anabranch resume ID finishes it, anabranch undo ID rolls it back",
)
UNREADABLE = finding("unreadable", "{what}", "{remedy}")
METADATA_MISSING = finding(
    "metadata-missing",
    "it holds the query's id and is missing: Spark refuses to start on a log without it",
    "{remedy}",
)
METADATA_BROKEN = finding("metadata-broken", "no query id can be read from it; a start fails on it", "{remedy}")
LOG_BROKEN = finding("log-broken", "it is truncated, or not an entry of this log. {consequence}", "{remedy}")
LOG_EMPTY = finding("log-empty", "it is empty. {consequence}", "{remedy}")
CHECKSUM = finding(
    "checksum",
    "it was changed after Spark wrote it: its checksum {checksum} does not match. A start may fail on that",
    "restore what it held; if the change is intended, remove {checksum}",
)
COMMITS_BEHIND = finding(
    "commits-behind",
    "the newest commit is {committed}, the newest batch is {newest}: Spark warns and runs only {newest} again",
    "find out what removed the commits {first} to {last}; rewind to {first} to run them all again",
)
UNFINISHED_VERSION_2 = finding(
    "unfinished-version-2",
    "an unfinished batch in an offset log of version 2: Spark 4.2.0 cannot start it (None.get)",
    "set spark.sql.streaming.checkUnfinishedRepartitionOnRestart=false, or rewind with --replan",
)
COMMIT_WITHOUT_OFFSETS = finding(
    "commit-without-offsets",
    "a commit without offsets. {consequence}",
    "restore offsets/{batch}, or move this commit and its .crc aside if the batch is to run again",
)
GAP = finding(
    "gap",
    "{log}/{first} to {last} are missing. {consequence}",
    "restore them from a backup; asynchronous progress tracking leaves such gaps by itself",
)
SOURCE_AHEAD = finding(
    "source-ahead",
    "the source's log of files is at {newest}, the offsets are at {end}: everything after {end} becomes one batch",
    "if the offsets were moved back by hand: move the entries above {end} aside as well, with their .crc",
)
TEMPORARY = finding(
    "temporary",
    "a temporary file of an interrupted write; Spark does not read it",
    "remove it once no query runs on this checkpoint",
)
STRAY_CRC = finding("stray-crc", "a checksum without its file {owner}. {consequence}", "remove {file}")
STATE_AHEAD = finding("state-ahead", "state that is newer than the log: {what}", "{remedy}")
OPERATOR_METADATA = finding(
    "operator-metadata",
    "it does not describe operator {operator}: empty, truncated or no such entry. A start reads it and fails",
    "restore it from a backup, with its .crc",
)
SCHEMA_MISSING = finding(
    "schema-missing",
    "{path} names it as the schema of operator {operator}, and it is missing. A start fails",
    "restore it from a backup",
)
COPIED = finding(
    "copied",
    "it names {outside}, outside this checkpoint: the checkpoint was copied or moved. Spark reads the original's files",
    "work on the original in its place; a copy starts only while the original is there",
)
STATE_MISSING = finding("state-missing", "state is missing: {what}. {consequence}", "{remedy}")
STATE_TORN = finding("state-torn", "a state file is damaged: {what}. {consequence}", "{remedy}")
SST_MISSING = finding("sst-missing", "a file of a RocksDB snapshot is missing: {what}. {consequence}", "{remedy}")
NO_BASE = finding("no-base", "state changes have no base: {what}. {consequence}", "{remedy}")

# Parts of findings.
DIRECTORY_UNREADABLE = note("directory-unreadable", "this directory cannot be listed; a start by this user fails on it")
FILE_UNREADABLE = note("file-unreadable", "it cannot be read. {consequence}")
LOOK_AS_OWNER = note("look-as-owner", "run as the user that runs the query, or: chmod -R u+rX {directory}")
NEW_QUERY_ID = note(
    "new-query-id",
    'restore it from a backup, or write a new id: {{"id":"<uuid>"}}, and remove .metadata.crc. '
    "A Delta sink takes a new id for a new query: batches that were written already are written again",
)
READ_AT_START = note("read-at-start", "A start reads it and fails")
NOT_READ_AT_START = note("not-read-at-start", "A start does not read it, a rewind near it would")
RESTORE_OR_REWIND = note(
    "restore-or-rewind", "restore {file} from a backup, or rewind to a batch that is restartable: --all shows which"
)
COMMIT_OF_NEW_QUERY = note(
    "commit-of-new-query",
    "Spark takes this for a new query, runs batch 0 into the sink, and fails where a commit exists already",
)
COMMIT_AHEAD = note("commit-ahead", "Spark runs the newest planned batch again, into the sink, and fails at its commit")
COMMIT_IGNORED = note("commit-ignored", "A start does not read it")
GAP_FAILS = note("gap-fails", "A start reads the last two entries and fails")
GAP_IGNORED = note("gap-ignored", "A start does not need them")
CRC_FAILS = note(
    "crc-fails",
    "Spark's default file manager fails when it writes that file (multiple streaming queries are concurrently using ...)",
)
CRC_MISLEADS = note("crc-misleads", "What Spark writes under that name later may fail its check")
STATE_WITHOUT_LOG = note(
    "state-without-log", "no batch is planned. A new query would start here and fail, or continue from that state"
)
RESTORE_LOG_OR_STATE_ASIDE = note(
    "restore-log-or-state-aside", "restore offsets and commits, or move state/ aside to start from the beginning"
)
VERSIONS_AHEAD = note(
    "versions-ahead", "versions {first} to {last}, the log ends at batch {newest}. Spark may load one later, with wrong counts"
)
STATE_ASIDE = note("state-aside", "move all state above version {version} aside, in every partition and store, with its .crc")
OPERATOR_METADATA_AHEAD = note(
    "operator-metadata-ahead",
    "operator metadata of batch {batch}, the log ends at {newest}. Spark fails when it writes that entry",
)
MOVE_ASIDE = note("move-aside", "move it aside, with its .crc")
PARTITION_MISSING = note("partition-missing", "partition {partition} of store {store} of operator {operator} is gone")
MORE_LIKE_IT = note("more-like-it", "{count:,} more like it")
NEXT_BATCH_FAILS = note("next-batch-fails", "Batch {batch} needs version {batch} and fails")
REWIND_NEEDS_IT = note("rewind-needs-it", "A start does not need it, a rewind to batch {batch} would")
REWIND_OR_RESTORE = note(
    "rewind-or-restore", "rewind to a batch that is restartable (--all shows which), or restore the file from a backup"
)
REWIND_ELSEWHERE = note("rewind-elsewhere", "rewind to other batches only")

# Why a version of a state store does not load.
IN_STORE = note("in-store", "{store}: {what}")
VERSION_OTHER_ID = note("version-other-id", "version {version} is there as {found}, but commits/{commit} names {named}")
VERSION_MISSING = note("version-missing", "version {version} has no file")
BASE_MISSING = note("base-missing", "version {after} holds only changes, and version {version}, which they change, is gone")
FILE_EMPTY = note("file-empty", "{name} is empty")
ZIP_TORN = note("zip-torn", "{name} is not a complete zip with a list of its files")
ZIP_LACKS = note("zip-lacks", "{name} needs {needed}, which is gone")
ZIP_SIZE = note("zip-size", "{name} needs {needed} with {wanted} bytes, it has {found}")

# Why a batch is not restartable.
UNFINISHED = note("unfinished", "an operation is not finished ({file}): resume or undo it first")
NO_SUCH_BATCH = note("no-such-batch", "there is no batch {batch}")
NEVER_PLANNED = note("never-planned", "no batch has been planned yet")
NOT_PLANNED = note("not-planned", "batch {batch} is not planned yet: the newest is {newest}")
ENTRY_MISSING = note("entry-missing", "{file} is missing: {use}")
ENTRY_UNREADABLE = note("entry-unreadable", "{file} cannot be read: {use}")
SAYS_RANGE = note("says-range", "it says what batch {batch} reads")
SAYS_START = note("says-start", "it says where batch {batch} begins")
LAST_TWO = note("last-two", "a start reads the last two entries of the log")
RUNS_AGAIN = note("runs-again", "batch {batch} would run again into the sink")
INITIAL_MISSING = note("initial-missing", "sources/{place}/0 is missing or unreadable: it says where batch 0 begins")
SOURCE_ENTRY_MISSING = note("source-entry-missing", "sources/{place}/{entry} is missing: it names files that were read by then")
STATE_NOT_LOADABLE = note("state-not-loadable", "state version {version} does not load: {what}")
STORE_MISSING = note("store-missing", "operator {operator} has no partition {partition} of store {store}")
MORE_STORES = note("more-stores", "{count:#more store} like it")
OPERATOR_UNKNOWN = note(
    "operator-unknown", "operator {operator} is not described as of batch {batch}: _metadata/v2 begins later"
)
OPERATOR_UNREADABLE = note("operator-unreadable", "{file} cannot be read: it describes operator {operator}")
SCHEMA_GONE = note("schema-gone", "{file} is missing: it is the schema of operator {operator}")
PARTITION_GONE = note("partition-gone", "{topic} no longer has partition {partition}")
OFFSETS_EXPIRED = note("offsets-expired", "{topic} partition {partition}: offsets {first} to {last} are no longer in Kafka")
OFFSETS_BEYOND_END = note(
    "offsets-beyond-end",
    "{topic} partition {partition} ends at {end}, the checkpoint is at {offset}: the topic was recreated",
)
OFFSET_LOG_VERSION_2 = note(
    "offset-log-version-2",
    "the offset log has version 2, of which Spark 4.2.0 cannot start an unfinished batch: use --replan, "
    "or set spark.sql.streaming.checkUnfinishedRepartitionOnRestart=false",
)

# Commands.
NO_CHECKPOINT = misuse("no-checkpoint", "there is no checkpoint at {path}", "{nearby}")
NOT_A_CHECKPOINT = misuse("not-a-checkpoint", "{path} is not a checkpoint: it has no offsets, commits or state", "{nearby}")
CHECKPOINT_UNREADABLE = failure("checkpoint-unreadable", "{path} cannot be read: {reason}")
NO_BATCH_YET = misuse("no-batch-yet", "there is no batch {batch}: no batch has been planned yet")
BATCH_GONE = misuse("batch-gone", "batch {batch} is gone: the oldest batch kept is {oldest}", "the newest is {newest}")
BATCH_MISSING = misuse("batch-missing", "there is no batch {batch}", "the batches kept are {oldest} to {newest}")
ONE_CHECKPOINT = misuse("one-checkpoint", "one checkpoint at a time, {count} were given", "pass the first alone: {first}")
NO_STATE = refusal("no-state", "this query keeps no state")
NO_COMMIT = refusal("no-commit", "no batch is committed yet: there is no state to read")
STATE_UNREADABLE = refusal("state-unreadable", "the state after batch {batch} cannot be read: {what}")
STATE_READER_FAILED = failure("state-reader-failed", "Spark cannot read this state: {reason}", "full log: {log}")

# What differs between the first start of a query on its checkpoint and now.
OTHER_SINK = note("other-sink", "it writes to {sink}, the checkpoint belongs to {before}")
READS_OTHER_TOPIC = note("reads-other-topic", "it reads {topic}, the checkpoint was made from {before}")
OTHER_CLUSTER = note(
    "other-cluster", "it reads {topic} of the Kafka cluster {now}, the checkpoint was made from that of cluster {before}"
)
TOPIC_RECREATED = note("topic-recreated", "topic {topic} was deleted and recreated: the same offsets now hold other records")
OTHER_ZONE = note("other-zone", "the timezone is {now}, the checkpoint was made with {before}: times without a zone move")
OTHER_DURATION = note("other-duration", "the {what} is {now}, the checkpoint's state was made with {before}")
OTHER_SHUFFLE_PARTITIONS = note(
    "other-shuffle-partitions", "spark.sql.shuffle.partitions is {now}, the checkpoint's state is in {before} partitions"
)
# What may differ between two starts.
OTHER_TOLERANCE = note("other-tolerance", "future_tolerance is {now} from here on, it was {before}")
SKIPS_MORE = note("skips-more", "it leaves out {records:, } from here on")
SKIPS_LESS = note("skips-less", "it no longer leaves out {records:, }")
CODE_CHANGED = note("code-changed", "its code has changed since it ran last: it computes from batch {batch} on")

# What a history cannot tell.
HISTORY_MISSING = note(
    "history-missing", "its history {path} is missing or torn: what batches 0 to {newest} have read is not known"
)
HISTORY_AHEAD = note(
    "history-ahead",
    "its history {path} is of another timeline, it ends with batch {batch} and the checkpoint with {newest}:"
    " its figures do not count",
)
FIGURES_LOST = note("figures-lost", "the figures of {batches:#batch/batches} were lost: a figure with + is a lower bound")
LATE_COUNTED_FROM = note("late-counted-from", "late records are counted from batch {batch} on")
WATERMARK_JUMPED = note(
    "watermark-jumped", "the watermark jumped by {size}, from {before} to {after}, after batch {batch}: {by}"
)
JUMP_SHORT = note("jump-short", "WATERMARK JUMPED by {size} after batch {batch} ({record})")
JUMP_MOVED_BY = note("jump-moved-by", "record {record} has the event time {event_time}")
JUMP_MOVED_BY_UNKNOWN = note("jump-moved-by-unknown", "which record moved it is not known")
