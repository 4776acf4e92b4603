"""What is said about pipelines, their sinks, and the topics that they read."""

from __future__ import annotations

from anabranch.errors import misuse

UNKNOWN_PIPELINE = misuse(
    "unknown-pipeline", "there is no pipeline {name!r}", "{suggestion}", "anabranch pipelines   lists them"
)
TARGET_AS_ARGUMENT = misuse(
    "target-as-argument", "there is no pipeline {name!r}", "to send results there, write: --to {kind}:{name}", "{suggestion}"
)
UNKNOWN_SINK = misuse("unknown-sink", "results cannot be sent to {to!r}", "{suggestion}")
SINK_NEEDS_TARGET = misuse("sink-needs-target", "--to {kind} needs a {target}", "--to {kind}:{target}")
SINK_TAKES_NO_TARGET = misuse(
    "sink-takes-no-target", "--to {kind} takes nothing behind it, {target!r} was given", "--to {kind}"
)
SINK_APPENDS_ONLY = misuse(
    "sink-appends-only",
    "{pipeline} emits more than one result for a key, and a {kind} can only be appended to",
    "--to topic:NAME   keeps the latest result of each key",
)
WINDOW_NOT_SETTABLE = misuse(
    "window-not-settable",
    "{pipeline} has no {what}, so none can be set: {setting}",
    "remove {setting} from the settings",
)
SCHEMA_EMPTY = misuse(
    "schema-empty",
    "the schema of a topic has no field",
    'name at least the event time: schema="placed_at TIMESTAMP NOT NULL"',
)
SCHEMA_MALFORMED = misuse(
    "schema-malformed",
    "the schema cannot be read at character {position}: {expected} is expected, {found} is there",
    "write it like: order_id STRING NOT NULL, amount DECIMAL(12,2), tags ARRAY<STRING>, buyer STRUCT<id: BIGINT, city: STRING>",
)
SCHEMA_TYPE_UNKNOWN = misuse(
    "schema-type-unknown", "{type!r} at character {position} of the schema is no type that can be decoded", "{suggestion}"
)
SCHEMA_NAME_ILLEGAL = misuse(
    "schema-name-illegal",
    "{name!r} at character {position} of the schema cannot be the name of a field",
    "use at least one character, and no control characters",
)
SCHEMA_NAME_REPEATED = misuse(
    "schema-name-repeated",
    "the schema has a second field {name!r} at character {position}: Spark does not tell capitals from small letters",
    "keep one of them: keys that are not declared are ignored",
)
SCHEMA_NAME_RESERVED = misuse(
    "schema-name-reserved",
    "{name!r} at character {position} of the schema is the name of a column that Anabranch adds",
    "give the field another name, and the key that it has in the records as its alias: aliases={{'{name}_': '{name}'}}",
)
SCHEMA_TOO_DEEP = misuse(
    "schema-too-deep",
    "the schema is nested deeper than {most} levels at character {position}",
    "leave the innermost part out: keys that are not declared are ignored",
)
SCHEMA_DECIMAL_OUT_OF_RANGE = misuse(
    "schema-decimal-out-of-range",
    "DECIMAL({precision},{scale}) at character {position} of the schema cannot be",
    "use 1 to {most} digits, of which some or all may be behind the point: DECIMAL(12,2)",
)
SCHEMA_MAP_KEY = misuse(
    "schema-map-key",
    "the keys of the MAP at character {position} of the schema are not STRING, and JSON has no others",
    "write MAP<STRING, ...>",
)
EVENT_TIME_NOT_A_FIELD = misuse(
    "event-time-not-a-field", "the event time of topic {topic} is {name!r}, which its schema does not have", "{suggestion}"
)
EVENT_TIME_NOT_A_TIMESTAMP = misuse(
    "event-time-not-a-timestamp",
    "the event time of topic {topic} is {name!r}, which is {type}",
    "declare it as TIMESTAMP in the schema: {name} TIMESTAMP NOT NULL",
)
TOPIC_FIELD_UNKNOWN = misuse(
    "topic-field-unknown", "{option} of topic {topic} names {name!r}, which its schema does not have", "{suggestion}"
)
ALIAS_TAKEN = misuse(
    "alias-taken",
    "the alias {alias!r} of {name!r} in topic {topic} is the name or the alias of a field already",
    "give each field an alias of its own; Spark does not tell capitals from small letters",
)
ALIAS_ILLEGAL = misuse(
    "alias-illegal",
    "the alias {alias!r} of {name!r} in topic {topic} cannot be a key",
    "use at least one character, and no control characters",
)
INTEGERS_NOT_TEXT = misuse(
    "integers-not-text",
    "integers_as_text of topic {topic} names {name!r}, which is {type}",
    "declare it as STRING in the schema, or leave it out of integers_as_text",
)

# Declarations

SOURCE_NOT_SETTABLE = misuse(
    "source-not-settable",
    "{pipeline} reads {topics:, }: topics.source cannot say which of them is meant",
    "remove topics.source from the settings of {pipeline}",
)
NOT_A_FUNCTION = misuse(
    "not-a-function",
    "{name} is declared as a pipeline and is not a function of frames",
    "put @ab.pipeline(...) above a function: def revenue(orders: DataFrame) -> DataFrame",
)
NOT_DECLARED = misuse(
    "not-declared", "{name} is not declared as a pipeline", "put @ab.pipeline(...) above it: def revenue(orders): ..."
)
READS_NO_TOPIC = misuse(
    "reads-no-topic",
    "pipeline {pipeline} names no topic to read",
    'name it first: orders = ab.topic("orders", ...), then @ab.pipeline(orders, ...)',
)
PARAMETERS_DIFFER = misuse(
    "parameters-differ",
    "pipeline {pipeline} reads {topics:, }, and its function takes ({parameters:, })",
    "give the function one parameter for each topic, in this order",
)
WINDOW_WITHOUT_WATERMARK = misuse(
    "window-without-watermark",
    "pipeline {pipeline} has a window, no watermark, and mode append: no window would ever be closed and emitted",
    'declare how late an event may be: watermark="10m"',
    'or emit each window whenever it changes: mode="update"',
)
LENGTH_NOT_POSITIVE = misuse(
    "length-not-positive", "the {what} of pipeline {pipeline} is not longer than 0", 'write it with its unit: "5m"'
)
SLIDE_TOO_LONG = misuse(
    "slide-too-long",
    "windows of pipeline {pipeline} begin further apart than they are long: events between two of them would be in none",
    'write the length first: window=("10m", "5m")',
)
BATCH_OF_SEVERAL = misuse(
    "batch-of-several",
    'pipeline {pipeline} has scope="batch" and reads {topics:, }: a batch is of one topic',
    "read one topic, or leave scope out",
)
MAX_OFFSETS_OUT_OF_RANGE = misuse(
    "max-offsets-out-of-range", "max_offsets of pipeline {pipeline} is {max_offsets}", "use 1 or more, or leave it out"
)
FLOAT_TOLERANCE_OUT_OF_RANGE = misuse(
    "float-tolerance-out-of-range",
    "float_tolerance of pipeline {pipeline} is {tolerance}",
    "use a small part of 1, such as 1e-9, or leave it out",
)
NOT_RECOMPUTABLE_BY_WINDOW = misuse(
    "not-recomputable-by-window",
    'pipeline {pipeline} is declared with recompute="windows", which needs one topic, a window and scope "stream"',
    "leave recompute out",
)
KEY_LACKS_WINDOW = misuse(
    "key-lacks-window",
    "the key of pipeline {pipeline} lacks window: a result could not be told from that of another window",
    'add it: key=("window", ...)',
    'or, if windows are never to be recomputed: recompute="none"',
)
TWO_OF_ONE_NAME = misuse("two-of-one-name", "two {what} are named {name}: {places: and }", "rename one of them")
WHICH_LAKE = misuse(
    "which-lake", "this project has {topics:, }, each with a lake: name the one that is meant", "pass a topic: {topics[0]}"
)
NO_TOPIC_HAS_LAKE = misuse(
    "no-topic-has-lake", "no topic of this project has a lake", 'declare one: ab.topic(..., lake="lake/orders")'
)
TOPIC_HAS_NO_LAKE = misuse("topic-has-no-lake", "there is no topic {topic!r} with a lake in this project", "{suggestion}")
UNKNOWN_TOPIC = misuse(
    "unknown-topic", "{topic!r} is no topic that this project declares", "{suggestion}", "anabranch pipelines   shows them"
)
SEVERAL_TOPICS = misuse("several-topics", "this project reads {count:#topic}", "name the one that you mean: {topics: or }")
