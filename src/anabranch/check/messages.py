"""What `anabranch check` finds, in words."""

from __future__ import annotations

from anabranch.errors import finding, note

_NOT_RECOMPUTED = 'or, if windows are never to be recomputed: recompute="none"'

NOT_A_FRAME = finding(
    "not-a-frame",
    "the function of {pipeline} returns {type}, and a pipeline's function returns a DataFrame",
    "end it with: return ...",
)
RESULT_NOT_STREAMING = finding(
    "result-not-streaming",
    "the result of {pipeline} does not come from its topics: it is a batch, and a stream could not write it",
    "build the result from the frames that the function gets",
)
ACTION_INSIDE = finding(
    "action-inside",
    "the function of {pipeline} runs {what}: an action, which a stream cannot run while its plan is built",
    "remove it: the function describes what is computed, and Spark computes it in every batch",
)
TRANSFORM_RAISES = finding(
    "transform-raises", "the function of {pipeline} raises {kind}: {sentence}", "correct that line, then: anabranch check"
)
BATCH_PLAN_FAILS = finding(
    "batch-plan-fails",
    "{pipeline} works on a stream and not on a batch, so its windows cannot be recomputed: {kind}: {sentence}",
    "use only what both have",
    _NOT_RECOMPUTED,
)
SPARK_REFUSES = finding(
    "spark-refuses", "Spark refuses to start {pipeline}: {kind}: {sentence}", "correct that, then: anabranch check"
)
KEY_NOT_IN_RESULT = finding(
    "key-not-in-result", "the key of {pipeline} names {name!r}, which its result does not have", "{suggestion}"
)
KEY_TOO_COARSE = finding(
    "key-too-coarse",
    "{pipeline} groups by {columns:, } too, which its key lacks: of several results with one key, readers keep the latest",
    'add it to the key: key=(..., "{columns[0]}")',
)
COLUMN_TWICE = finding(
    "column-twice",
    "the result of {pipeline} has two columns {name!r}: Spark does not tell capitals from small letters",
    "give one of them another name with .alias(...)",
)
PARTITION_COLUMN_MISSING = finding(
    "partition-column-missing",
    "the table of {pipeline} is partitioned by {name!r}, which its result does not have",
    "{suggestion}",
)
COLUMN_WITHOUT_TYPE = finding(
    "column-without-type",
    "the column {name!r} of {pipeline} has the type {type}, which a {kind} cannot hold",
    'give it one that it can: .cast("string")',
)
RESULT_UNWRITABLE = finding(
    "result-unwritable", "results of {pipeline} cannot be written as records: {kind}: {sentence}", "correct the key"
)
STATE_UNBOUNDED = finding(
    "state-unbounded",
    "{pipeline} keeps state ({operators:, }) and declares no watermark: nothing is ever dropped from it",
    'declare how late an event may be: watermark="10m"',
)
STATE_NOT_EVICTED = finding(
    "state-not-evicted",
    "{pipeline} groups by neither its window nor its event time: each key stays in its state for ever",
    "group by the window, or see to it that there are few keys",
)
FREE_STATE = finding(
    "free-state",
    "{pipeline} keeps state of its own ({operators:, }): a window's result does not follow from the records of the window",
    'declare it: recompute="none"',
)
ACROSS_WINDOWS = finding(
    "across-windows",
    "{pipeline} aggregates without its window: a result does not follow from the records of one window",
    'group by it: groupBy("window", ...)',
    _NOT_RECOMPUTED,
)
BATCH_DEPENDENT = finding(
    "batch-dependent",
    "{pipeline} uses {operators:, }, which on a stream sees the records of one batch: results depend on how it was cut",
    "use an aggregate",
    _NOT_RECOMPUTED,
)
OWN_WATERMARK = finding(
    "own-watermark",
    "the function of {pipeline} calls withWatermark: the event time and the delay in force are not those declared",
    'remove it, and declare it: watermark="10m"',
)
CLOCK = finding(
    "clock",
    "{pipeline} reads a clock ({what}): a window that is recomputed later would come out different",
    "use the event time, or _record_time, when Kafka got the record",
    _NOT_RECOMPUTED,
)
RANDOM = finding(
    "random",
    "{pipeline} uses {what}, which differs from run to run: a window that is recomputed would come out different",
    "derive it from the record: F.xxhash64(...) of its fields",
    _NOT_RECOMPUTED,
)
PLAN_CHANGES = finding(
    "plan-changes",
    "the function of {pipeline} builds another plan each time it is called: it reads a clock or something random in Python",
    "use the event time, and constants",
    _NOT_RECOMPUTED,
)
ORDER_DEPENDENT = finding(
    "order-dependent",
    "{pipeline} uses {what}, whose value depends on the order in which records come, and a recomputed window has another",
    "use an aggregate that does not: F.min_by(..., event time), F.sort_array(F.collect_list(...))",
    _NOT_RECOMPUTED,
)
FLOAT_SUM = finding(
    "float-sum",
    "{pipeline} adds up numbers of type {type} ({what}): a recomputed sum may differ in its last digits",
    "declare the field as DECIMAL, or round the sum",
)
NOT_EQUAL = finding(
    "not-equal",
    "{pipeline} gives another result as a stream than as one batch, for {key}: the stream gave {stream}, the batch {batch};"
    " with these batches of records: {batches: | } (seed {seed})",
    "a result must depend on nothing but the records of its window, in any order and cut in any way",
    _NOT_RECOMPUTED,
)
PROVED = note(
    "proved",
    "{pipeline}: {events:#event} in {rounds:#round}, cut into batches and shuffled within the watermark, gave what one batch"
    " of them gives (seed {seed})",
)
NOT_PROVABLE = note("not-provable", "{pipeline}: not provable: {why}")
WHY_NOT_RECOMPUTABLE = note("why-not-recomputable", "windows of it are not recomputed (recompute is none, or it has no window)")
WHY_NO_KEY = note("why-no-key", "it emits results more than once and has no key, so the latest cannot be told")
WHY_FINDINGS = note("why-findings", "its plan cannot be built")
