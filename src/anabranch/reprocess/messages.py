"""What is said about reprocessing."""

from __future__ import annotations

from anabranch.errors import failure, note, refusal

NO_WINDOWS = refusal(
    "no-windows", "{pipeline} has no windows that could be recomputed", "anabranch lake   shows the lake that holds its records"
)
NOT_BY_WINDOW = refusal(
    "not-by-window",
    '{pipeline} is declared with recompute="none": a window of it does not follow from the records in the window alone',
    "anabranch rewind {pipeline}   runs its batches again",
)
JOINS_TOPICS = refusal(
    "joins-topics",
    "{pipeline} joins {topics:, }: a window of it does not follow from the records of one lake",
    "anabranch rewind {pipeline}   runs its batches again",
)
TOPIC_WITHOUT_LAKE = refusal(
    "topic-without-lake",
    "{pipeline} cannot be recomputed: its topic {topic} has no lake",
    'declare one: ab.topic("{topic}", ..., lake="lake/{topic}"), then: anabranch run {topic}-lake',
)
COUNTS_PER_BATCH = refusal(
    "counts-per-batch",
    "{pipeline} counts within each batch: its results depend on the cut into batches, which the lake does not hold",
    'leave scope="batch" out to count over all batches; of ours, browsers-stateful does',
)
NO_RESULT_TOPIC = refusal(
    "no-result-topic",
    "{pipeline} does not write its results to a topic",
    "pass --topic NAME where it was run with --to topic:NAME",
)
EMPTY_RANGE = refusal("empty-range", "the range {range} is empty", "--from must be before --to")
NEVER_RAN = refusal("never-ran", "{pipeline} has never run: there is nothing to correct", "anabranch run {pipeline}")
WINDOWS_OPEN = refusal(
    "windows-open",
    "windows up to {end} are not closed: the watermark of {pipeline} is at {watermark};"
    " the running stream will still emit them",
    "{when}",
)
CLOSES_NEXT_BATCH = note("closes-next-batch", "the next batch closes them: anabranch run {pipeline}")
CLOSES_WITH_EVENT = note("closes-with-event", "they close once it has read an event of {time} or later")
LAKE_BEHIND = refusal(
    "lake-behind",
    "the lake is behind {pipeline}: it lacks {missing}",
    "anabranch run {lake} --until-caught-up",
)
LAKE_INCOMPLETE = refusal(
    "lake-incomplete",
    "the lake does not hold all records that {pipeline} has read, recomputed results would be wrong: it lacks {missing}",
    "{ways}",
)
LACKS_RETAINED = note("lacks-retained", "{count:#offset} of partition {partition}, {first} to {last}")
LACKS_EXPIRED = note(
    "lacks-expired", "{count:#offset} of partition {partition}, {first} to {last}, which Kafka no longer retains either"
)
LACKS_MORE = note("lacks-more", "{count:#offset} in {ranges:#more range}")
WRITE_NEW_LAKE = note(
    "write-new-lake",
    'write a new lake from all that Kafka retains: set table = "PATH" in [pipeline.{lake}] of anabranch.toml, then'
    " anabranch run {lake} --until-caught-up",
)
NOT_RECOMPUTABLE = note(
    "not-recomputable", "without these records no window of {pipeline} can be recomputed with certainty; nothing was sent"
)
INPUTS_STALE = refusal(
    "inputs-stale",
    "plan {operation} is stale, nothing was sent. Since it was made: {why}",
    "anabranch {command} {pipeline} --from {start} --to {end}   makes a new plan",
)
RESULTS_DAMAGED = failure(
    "results-damaged",
    "{path} holds {found:,} of the {planned:,} results that {operation} sends: it is damaged, nothing was sent",
    "anabranch {command} {pipeline} --from {start} --to {end}   makes a new plan",
)

# What makes a plan stale.
SOURCE_TOPIC_RECREATED = note("source-topic-recreated", "the source topic was deleted and recreated")
STREAM_REPLACED = note("stream-replaced", "the stream runs on another checkpoint")
RESULT_TOPIC_RECREATED = note("result-topic-recreated", "the result topic was deleted and recreated")
RESULT_PARTITIONS_CHANGED = note("result-partitions-changed", "the result topic has {now:#partition}, it had {before}")
RESULTS_EXPIRED = note(
    "results-expired", "results {first} to {last} of partition {partition} are gone before this plan could read them"
)
NEWER_RESULT = note("newer-result", "{key} has a newer result, from {origin}")
MORE_NEWER_RESULTS = note("more-newer-results", "{count:#more key} with newer results")
LAKE_REPLACED = note("lake-replaced", "the lake is another table")
LAKE_CHANGED = note("lake-changed", "the lake has {now:#record} of these windows, it had {before:,}")
