"""What is said about explanations of windows."""

from __future__ import annotations

from anabranch.errors import misuse, note, refusal

WINDOW_AMBIGUOUS = misuse(
    "window-ambiguous",
    "{pipeline} has windows of {length}, one every {slide}: {count} of them have the time {time}",
    "{ways}",
)
NO_SUCH_WINDOW = misuse("no-such-window", "no window has the time {time}: no calendar has all of it")
KEY_MALFORMED = misuse(
    "key-malformed",
    "--key is no key of {pipeline}: {reason}",
    """--key '{example}'   or the key of a result, as `anabranch consume` shows it""",
)
KEY_NOT_AN_OBJECT = note("key-not-an-object", "it is no JSON object")
KEY_OTHER_FIELDS = note("key-other-fields", "its fields are {given:, }, those of a key are {fields:, }")
KEY_OTHER_WINDOW = note("key-other-window", "its window begins at {given}, not at {start}")
KEY_WRONG_VALUE = note("key-wrong-value", "{field} is no {type}")
KEY_COMPUTED = refusal(
    "key-computed",
    "which records belong to a key of {pipeline} cannot be told: {fields:, } is no field of topic {topic}, but computed",
    "anabranch explain {pipeline} --window {window}   shows the records of the whole window",
)
KEY_NOT_BY_FIELDS = refusal(
    "key-not-by-fields",
    "which records belong to {key} cannot be told by the fields of topic {topic}: the records that have them give {found},"
    " and all records of the window give {should_be}",
    "anabranch explain {pipeline} --window {window}   shows the records of the whole window",
)
LAKE_NOT_SO_FAR = note(
    "lake-not-so-far",
    "the lake has not yet what the last {batches:#batch/batches} of the stream read: told is how it was after batch {last}",
)
