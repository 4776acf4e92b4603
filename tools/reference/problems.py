"""problems.md: every problem of a record, in the order in which the decoder judges them."""

from __future__ import annotations

import re
from importlib.resources import files

from anabranch.streaming.decoder.decode import SKIPPED
from tools.reference.markdown import code, table

_NOT_OURS = "Fix the producer."
# Problem -> what it means, what to do. One that is missing here, or gone from the decoder, fails the generation.
_MEANINGS = {
    SKIPPED: (
        "The setting `skip` of the pipeline names it.",
        "Nothing; to count it again, remove it from the setting and rewind the batches that left it out.",
    ),
    "null value": ("The record is a tombstone: it has no value.", "Send visits to a topic without tombstones."),
    "empty record": ("No bytes, or only blanks.", _NOT_OURS),
    "not UTF-8": ("The bytes are no UTF-8 text.", "Encode as UTF-8; UTF-16 is shown as `NUL character`."),
    "NUL character": ("A NUL character, raw or escaped, in a field that is read or in a text that does not parse.", _NOT_OURS),
    "not an object": ("JSON, but an array, a number, a string or `null`.", "Send one JSON object in each record."),
    "not JSON": (
        "It does not parse: cut off, a byte order mark, single quotes, `NaN`, nested too deeply, a number too long.",
        _NOT_OURS,
    ),
    "lone surrogate": ("Half a character, as an escape, in a field that is read.", "Fix how the producer cuts strings."),
    "more than one object": ("Something follows the object.", "Send one JSON object in each record."),
    "duplicate key": ("A key appears twice at the top level, or anywhere in a field that is read.", _NOT_OURS),
    "no event_time": ("`event_time` (or `eventTime`) is missing or null.", _NOT_OURS),
    "event_time is a number": (
        "A number, quoted or not: its unit can only be guessed.",
        "Send ISO-8601, such as `2025-09-04T07:00:00Z`.",
    ),
    "event_time out of range": ("Before 1970 or after 9998, or a year with a sign or five digits.", _NOT_OURS),
    "event_time is not a time": (
        "Any other text, also 30 February, a time without a date, and a region name such as `[Europe/Paris]`.",
        "Send ISO-8601, such as `2025-09-04T07:00:00Z`.",
    ),
    "event_time in the future": (
        "Later than the record's own Kafka timestamp by more than the future tolerance.",
        "Fix the producer's clock; or raise `future_tolerance` and rewind the batches that judged it.",
    ),
    "no <field>": ("A field that is NOT NULL is missing or null.", _NOT_OURS),
    "wrong type: <field>": (
        "The value is none of the field's type, or one inside of it is not: a number out of range, a day that does not exist, "
        "a NOT NULL field of a STRUCT that is missing. An id of a visit may be a string or an integer.",
        "Send what the schema says, or correct the schema.",
    ),
}
_PROBLEM = re.compile(r'= s?"([^"]+)"$', re.M)


def problems_page() -> str:
    found = _in_order()
    assert set(found) == _MEANINGS.keys(), f"describe {set(found) ^ _MEANINGS.keys()} in tools/reference/problems.py"
    rows = [(str(number), code(name), *_MEANINGS[name]) for number, name in enumerate(found, 1)]
    return f"""\
# Problems of records

A record that cannot be used has a problem.
It goes to the lake, is counted by `anabranch status`, and is left out everywhere else.
`anabranch problems` counts them by problem; `anabranch problems --reason 'no event_time'` shows the records.

The problems are judged in this order; the first that applies is the record's problem.
The words are stable; `event_time` stands for the name that the topic's event time has, `<field>` for a field's.
Of several fields, the first in the schema is named.

{table(("order", "problem", "what it means", "what to do"), rows)}
A record with a problem from `null value` to `duplicate key` cannot be trusted as a whole: it has no event time in the lake.
A record with another problem keeps its event time if that is in range.
`visits-sessions` has no guard against events from the future.
[decoder.md](../internals/decoder.md) describes the decoder.
"""


def _in_order() -> list[str]:
    """As the decoder has them: the record as a whole, its time, then its fields."""
    declared = _PROBLEM.findall(files("anabranch.streaming.decoder").joinpath("Problem.scala").read_text(encoding="utf-8"))
    return [SKIPPED, *(one.replace("$time", "event_time").replace("$field", "<field>") for one in declared)]
