"""The fast path: records of which one regular expression proves that nothing but their time can be wrong. Most are such.

In SQL, as the rest of the decoder. It never says that a record is bad, only that the fast path holds; every other record is
parsed and checked in full. It must never match a record that the full parse would reject, nor read another value than the
parser would: `tests/streaming/test_decoder.py` decodes each case both ways.

A record matches if it is one flat object, no name twice, with strings that need no unescaping, ids also as integers, and a date
and time with seconds; a blank after a colon or a comma is allowed. The expression takes 2 microseconds a record, where a parser
and one function for each rule took 16.
"""

from __future__ import annotations

from typing import Final

from anabranch.streaming.decoder.sql import first_of, literal, regex

# Each control character by itself: Java looks single characters up in a table, and asks a range one by one.
_CONTROL: Final = "".join(f"\\x{code:02x}" for code in range(0x20))
# Possessive (*+), here and below: nothing is ever tried twice, so no text can make it slow, nor deep.
_STRING: Final = rf'"[^"\\{_CONTROL}]*+"'
# -0 is left to the parser, which makes 0 of it, and so are numbers of more than 18 digits.
_STRING_OR_INTEGER: Final = rf"(?:{_STRING}|0|-?[1-9][0-9]{{0,17}}+)"
_TIME: Final = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9}+)?+(?:Z|[+-][0-9]{2}:[0-9]{2})?+"
# Of other fields, which are not read: any number that every parser accepts, none of the known names, and no name twice
# (a quote stands only around strings, and only a name is followed by a colon). Jackson rejects long names.
_NUMBER: Final = r"-?(?:0|[1-9][0-9]{0,17}+)(?:\.[0-9]{1,18}+)?+"
_KNOWN: Final = "event_(?:id|time)|eventTime|(?:visit|user)_id|userId|page|browser"
_OTHER: Final = rf'(?!(?:{_KNOWN})")([^"\\{_CONTROL}]{{0,200}}+)(?![^\n]*"\8":)": ?+(?:{_STRING}|{_NUMBER}|true|false|null)'
# Each other name looks through the whole text for itself: so there may be some, not thousands.
_MOST_PAIRS: Final = 32
# A name is followed by an empty group of its own, which says that it was here: (?!\1) fails when it comes again.
# Both spellings of a name share one: who writes both is left to the parser.
_PAIR: Final = (
    rf'"(?:event(?:_t|T)ime(?!\1)()": ?+"({_TIME})"'
    rf'|(?:visit_id(?!\3)()|user(?:_i|I)d(?!\4)())": ?+{_STRING_OR_INTEGER}'
    rf'|(?:event_id(?!\5)()|page(?!\6)()|browser(?!\7)())": ?+{_STRING}|{_OTHER})'
)
# A comma only before another pair: Java would not let the pair be written here twice, its groups would be others.
_FAST: Final = rf'^\{{(?:{_PAIR}(?:, ?+(?=")|(?=\}}))){{1,{_MOST_PAIRS}}}+\}}\z'
_TIME_GROUP: Final = 2


def fast_time(text: str) -> str:
    """The event time's text where the record matches, else empty; null where it is no UTF-8 at all."""
    return f"CASE WHEN is_valid_utf8({text}) THEN regexp_extract({text}, {regex(_FAST)}, {_TIME_GROUP}) END"


def fast_field(text: str, *names: str) -> str:
    """A field's text in a record that matches, by the first of its names that is there.

    There a quote stands nowhere but around a string, so a name with its quotes and colon is there only once.
    """
    marks = [literal(f'"{name}":') for name in names]
    return first_of(*(f"CASE WHEN contains({text}, {mark}) THEN {_after(text, mark)} END" for mark in marks))


def _after(text: str, mark: str) -> str:
    value = f"ltrim(substring_index({text}, {mark}, -1))"
    string = f"""substring_index(substring_index({value}, '"', 2), '"', -1)"""
    number = f"substring_index(substring_index({value}, ',', 1), '}}', 1)"
    return f"""CASE WHEN startswith({value}, '"') THEN {string} ELSE {number} END"""


def fast_instant(time: str, zone: str) -> str:
    """The instant of the time, in `zone` if it names none; null where there is none, such as 30 February."""
    # The zone is written behind the time: cast alone would take the session's.
    has_zone = f"endswith({time}, 'Z') OR substring({time}, -6, 1) IN ('+', '-')"
    return f"try_cast(CASE WHEN {has_zone} THEN {time} ELSE concat({time}, {literal(zone)}) END AS TIMESTAMP)"
