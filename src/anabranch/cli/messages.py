"""What only the command line says."""

from __future__ import annotations

from anabranch.errors import failure, misuse, refusal

_ACKNOWLEDGED_BEFORE = "acknowledged before it: {acknowledged:#record}"

COMMAND_MALFORMED = misuse("command-malformed", "{reason}", "{suggestion}", "usage: {usage}", "{command} -h")
DIRECTORY_EMPTY = misuse("directory-empty", "-C needs a directory, and its value is empty", "anabranch -C DIR ...")
DIRECTORY_TWICE = misuse("directory-twice", "-C was given more than once: {directories:, }", "pass the one you mean")
OUTPUT_CLOSED = failure(
    "output-closed",
    "standard output is closed: the result cannot be written",
    "open it: > FILE, or > /dev/null if nobody is to read it",
)
CONTRADICTION = misuse("contradiction", "--yes and --dry-run contradict each other", "pass one of them")
SINCE_AND_RANGE = misuse(
    "since-and-range",
    "--since-last and a range contradict each other: the range is from where the last audit ended",
    "pass one",
)
AUDIT_AND_RANGE = misuse("audit-and-range", "--audit and a range contradict each other: an audit has its range", "pass one")
RAW_AND_JSON = misuse("raw-and-json", "--raw and --json contradict each other: JSON is always escaped", "pass one of them")
CANNOT_PROMPT = misuse("cannot-prompt", "cannot prompt: stdin is not a terminal", "pass --yes or --dry-run")
DECLINED = refusal("declined", "nothing was changed")
DELETE_NEEDS_YES = misuse(
    "delete-needs-yes",
    "deleting {topic} and its {records:#record} must be confirmed, and stdin is not a terminal",
    "anabranch topics delete {topic} --yes",
)
SETTING_MALFORMED = misuse("setting-malformed", "--set {setting!r} is not KEY=VALUE", "--set spark.sql.shuffle.partitions=4")
NO_SUCH_PARTITION = misuse("no-such-partition", "{topic} has partitions 0 to {last}, there is no partition {partition}")
INPUT_UNREADABLE = misuse(
    "input-unreadable", "{file} cannot be read: {reason}", "anabranch produce TOPIC FILE ...   sends the lines of files"
)
INPUT_NOT_UTF8 = misuse(
    "input-not-utf8",
    "{file} is UTF-16: its lines would be records that no pipeline can read",
    "iconv -f UTF-16 -t UTF-8 {file} | anabranch produce {topic}",
)
NO_KEY_FIELD = misuse(
    "no-key-field", "line {line} of {file} has no field {field!r}; nothing of its group was sent", _ACKNOWLEDGED_BEFORE
)
LINE_TOO_LONG = misuse(
    "line-too-long",
    "line {line} of {file} has {more_than}{size:,} bytes, a record may have {limit:,}; nothing of its group was sent",
    _ACKNOWLEDGED_BEFORE,
    "to allow more, set message.max.bytes below [kafka.properties], and max.message.bytes of the topic",
)
LINE_CUT = misuse(
    "line-cut",
    "line {line} was cut by the terminal, which passes no more than {limit:,} bytes of a line; nothing of its group was sent",
    _ACKNOWLEDGED_BEFORE,
    "save the lines to a file, then: anabranch produce {topic} FILE",
)
SYSTEM_REFUSED = failure(
    "system-refused",
    "{reason}{where}",
    "{remedy}",
    "then run the same command again; anabranch operations   names what is not finished",
)
UNEXPECTED = failure("unexpected", "unexpected error: {kind}: {text}", "the same command with --debug shows the stack trace")
DEMO_FAILED = failure("demo-failed", "the demo failed: {what}", "its project is in {directory}")
