"""What is said about rewinds and undos."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note, refusal

# Where to.
_TARGETS = "pass one of --to-batch N, --to-time TIME, --to-event-time TIME, --to-offset TOPIC:PARTITION:OFFSET"
NO_TARGET = misuse("no-target", "no target given", _TARGETS)
TWO_TARGETS = misuse("two-targets", "more than one target given", _TARGETS)
OFFSET_MALFORMED = misuse(
    "offset-malformed", "{text!r} is not a record", "--to-offset TOPIC:PARTITION:OFFSET, such as visits:0:1200"
)
DELAY_UNKNOWN = misuse(
    "delay-unknown",
    "a checkpoint does not hold the delay of the watermark, and --to-event-time needs it",
    "--delay 10m   as in the query's withWatermark",
)
NOTHING_PLANNED = refusal("nothing-planned", "no batch has been planned here: there is nothing to rewind")
NO_BATCH_AT = refusal(
    "no-batch-at",
    "no batch was planned at {time} or later: the newest, {newest}, was planned at {planned}",
    "--to-batch {newest}   rewinds the newest",
)
NO_WATERMARK = refusal(
    "no-watermark",
    "this query has no watermark, so no batch can be found by event time",
    "--to-time finds a batch by when it was planned, --to-offset by a record",
)
NO_BATCH_WITH = refusal(
    "no-batch-with",
    "no batch holds events of {time} or later: the latest event is of {latest}",
    "--to-batch {newest}   rewinds the newest",
)
TOPIC_NOT_READ = refusal(
    "topic-not-read",
    "this checkpoint does not read {topic} partition {partition}",
    "anabranch checkpoint   shows what it reads",
)
OFFSET_NOT_READ = refusal(
    "offset-not-read",
    "offset {offset} of {topic} partition {partition} has not been read yet: the newest batch ends before {end}",
)
TARGET_PURGED = refusal(
    "target-purged",
    "{what} may be gone: the oldest batch kept is {oldest}, planned at {planned}",
    "anabranch checkpoint --all   shows which batches are restartable",
    "anabranch reprocess   recomputes windows from the lake instead",
)
FIRST_PLANNED_AT = note("first-planned-at", "the first batch planned at {time} or later")
FIRST_WITH_EVENTS = note("first-with-events", "the first batch with events of {time} or later")
BATCH_OF_OFFSET = note("batch-of-offset", "the batch that read offset {offset}")

# Whether it may be done.
NOT_RESTARTABLE = refusal("not-restartable", "batch {batch} cannot be rewound to by {mode}: {why}", "{ways}")
NEAREST = note("nearest", "batch {batch} is possible: --to-batch {batch}")
WITH_REPLAN = note("with-replan", "batch {batch} is possible with --replan")
WITHOUT_REPLAN = note("without-replan", "batch {batch} is possible without --replan")
NONE_POSSIBLE = note("none-possible", "no batch is possible: anabranch checkpoint   says what is wrong with it")
PIPELINE_RUNS = refusal(
    "pipeline-runs", "{pipeline} is running: {holder}", "anabranch stop {pipeline}   ends it after its batch, then rewind"
)
OURS_BY_PATH = misuse(
    "ours-by-path",
    "{path} is the checkpoint of a pipeline: named by its path, its sink would not be rewound",
    "anabranch rewind {pipeline} ...   in its project, with --to if it is not its own sink",
)
MAYBE_RUNNING = refusal(
    "maybe-running",
    "this checkpoint has no lease of ours: a busy query would be noticed by its log and by the fence, an idle one by neither,"
    " and it would continue past the rewind",
    "stop the query, make sure that its driver is gone, then pass --stopped",
)
SINK_NOT_KNOWN = refusal(
    "sink-not-known",
    "what the query of {path} has written cannot be rewound: a checkpoint does not say where its sink is",
    "console, Kafka, or a foreachBatch that writes by key: --checkpoint-only is right, results are emitted again",
    "a Delta table: in ONE commit delete the rows of the batches taken back and set the transaction (query id, N-1), then"
    " --checkpoint-only; docs/guides/rewind.md shows how",
    "a file sink keeps its own log of batches and skips them: write to a new directory, with a new checkpoint",
)
LAKE_HAS_THEM = note(
    "lake-has-them",
    "the lake still has offsets {first} to {last} of {topic} partition {partition}:"
    " anabranch reprocess   recomputes windows from it",
)
LAKE_LACKS_THEM = note(
    "lake-lacks-them",
    "the lake does not have all of offsets {first} to {last} of {topic} partition {partition} either: it holds {held}",
)
NO_LAKE_HAS_THEM = note("no-lake-has-them", "there is no lake that would have these records")

# Notes of a plan.
RETENTION_UNKNOWN = note("retention-unknown", "source retention was not checked: it is not known which Kafka this query reads")
KAFKA_RETAINS = note("kafka-retains", "Kafka retains {topic}  {ranges}")
START_WILL_BE_REFUSED = note("start-will-be-refused", "{difference}: a start will be refused")
OTHER_CODE = note(
    "other-code", "batches that are taken back were computed by another version of the pipeline's code: results may differ"
)
READ_BY_REPROCESS = note(
    "read-by-reprocess", "{operation} has read rows of the lake that are deleted now; the results that it sent stay"
)

# What must hold afterwards.
NO_FENCE_LEFT = note("no-fence-left", "no fence and no journal are left")
FILES_AS_PLANNED = note("files-as-planned", "every file is in its place: none is missing, none is left over")
NEWEST_PLANNED_IS = note("newest-planned-is", "the newest planned batch is {batch}")
NEWEST_COMMIT_IS = note("newest-commit-is", "the newest commit is {batch}")
NO_STATE_ABOVE = note("no-state-above", "no state version is above {version}")
BATCH_IS_RESTARTABLE = note("batch-is-restartable", "batch {batch} has all that it needs: its log, and its state loads")
NOT_VERIFIED = failure(
    "not-verified",
    "{operation} was applied, and afterwards this does not hold: {failed}",
    "anabranch checkpoint {subject}",
)

# Undo.
NOT_A_REWIND = refusal("not-a-rewind", "{operation} is no rewind: there is nothing to undo", "{instead}")
CORRECT_AGAIN = note("correct-again", "a reprocess is corrected by another one")
REWIND_AGAIN = note("rewind-again", "rewind again instead")
ALREADY_UNDONE = refusal("already-undone", "{operation} is undone already", "anabranch operations {operation}")
WAS_ROLLED_BACK = refusal("was-rolled-back", "{operation} was rolled back before it finished: there is nothing to undo")
WAS_REFUSED = refusal("was-refused", "{operation} was refused: it changed nothing")
LATER_OPERATION = refusal(
    "later-operation", "{later} followed {operation} on the same checkpoint", "anabranch undo {later}   first"
)
RAN_AGAIN = refusal(
    "ran-again", "{operation} cannot be undone, the query has run since: {why}", "what was set aside stays in {aside}"
)
WOULD_BE_LOST = note("would-be-lost", "batches {first} to {last} ran again and would be lost")
PLANNED_AGAIN = note("planned-again", "batch {batch} was planned again")
FILES_CHANGED = note("files-changed", "files of the checkpoint came or went")
ASIDE_GONE = refusal(
    "aside-gone",
    "{operation} cannot be undone: {count:#file} that it set aside are gone, for one {first}",
    "restore them there; or leave it: the checkpoint is complete as the rewind left it",
)
