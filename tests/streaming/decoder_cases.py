"""Records and what the decoder must make of each: a good event, or the name of its problem."""

from __future__ import annotations

import json
from dataclasses import dataclass

# What the cases are decoded with. Each record has the Kafka timestamp 2025-09-04T07:00:00Z (decoder_frames.py).
ZONE = "Europe/Paris"
HOUR_S = 3600.0


@dataclass(frozen=True)
class Case:
    """One record and what must become of it: the problem, or the columns named."""

    name: str
    value: bytes | None
    problem: str | None = None
    columns: tuple[tuple[str, str | None], ...] = ()


def good(name: str, value: str | bytes, **columns: str | None) -> Case:
    return Case(name, value.encode() if isinstance(value, str) else value, None, tuple(columns.items()))


def bad(problem: str, name: str, value: str | bytes | None, **columns: str | None) -> Case:
    return Case(name, value.encode() if isinstance(value, str) else value, problem, tuple(columns.items()))


def at(time: object, **fields: object) -> str:
    return json.dumps({"event_time": time, **fields})


NOON = "2025-09-04T12:00:00"  # in Paris: 10:00 in UTC, in the future of the record by 3 hours
SEVEN = "2025-09-04T07:00:00"  # in Paris: 05:00 in UTC
SEVEN_UTC = "2025-09-04 05:00:00"
T = f'"event_time":"{SEVEN}"'

GOOD = [
    good(
        "all fields",
        at(SEVEN, event_id="e", visit_id="v", user_id="u", page="p", browser="b"),
        event_time=SEVEN_UTC,
        event_id="e",
        visit_id="v",
        user_id="u",
        page="p",
        browser="b",
    ),
    good(
        "seed 000, nested",
        '{"visit_id":"140444734049152_4","event_time":"2024-01-01T01:00:00","user_id":"u","keep_private":false,'
        '"page":"main","context":{"referral":"x","technical":{"browser":"Firefox"}}}',
        visit_id="140444734049152_4",
        event_time="2024-01-01 00:00:00",
        page="main",
        browser=None,
    ),
    good(
        "seed 001",
        '{"event_id": "click-1", "visit_id": 1, "event_time": "2025-09-04T07:00:00.000000"}',
        event_id="click-1",
        visit_id="1",
        event_time=SEVEN_UTC,
        page=None,
    ),
    good(
        "seed 004",
        '{"userId": 1, "page": "index.html", "eventTime": "2024-10-06T10:00:00Z", "browser": "Firefox"}',
        user_id="1",
        page="index.html",
        event_time="2024-10-06 10:00:00",
        browser="Firefox",
    ),
    good("only event_time", at(SEVEN), visit_id=None, event_time=SEVEN_UTC),
    good("the canonical spelling wins", at(SEVEN, eventTime="x", user_id="a", userId="b"), event_time=SEVEN_UTC, user_id="a"),
    good("unless it is null", at(None, eventTime=SEVEN, user_id=None, userId="b"), event_time=SEVEN_UTC, user_id="b"),
    good("other capitals are other names", at(SEVEN, Visit_Id="x", PAGE=1), visit_id=None, page=None),
    good("a visit as a string", at(SEVEN, visit_id="1"), visit_id="1"),
    good("a visit as a number", at(SEVEN, visit_id=1), visit_id="1"),
    good("a negative visit", at(SEVEN, visit_id=-7), visit_id="-7"),
    good("minus zero is zero", f'{{{T},"visit_id":-0}}', visit_id="0"),
    good("more digits than a long", at(SEVEN, visit_id=10**30 + 1), visit_id=str(10**30 + 1)),
    good("more digits than a double", at(SEVEN, user_id=10**400), user_id=str(10**400)),
    good("an id that only looks like a fraction", at(SEVEN, visit_id="1.0", user_id="1e3"), visit_id="1.0", user_id="1e3"),
    good("ids that only look like JSON", at(SEVEN, visit_id="{}", user_id="true"), visit_id="{}", user_id="true"),
    good("a string that reads Infinity", at(SEVEN, visit_id='"Infinity"'), visit_id='"Infinity"'),
    good(
        "a page of digits", at(SEVEN, page="404", browser="[x]", event_id="false"), page="404", browser="[x]", event_id="false"
    ),
    good("a page with a brace", at(SEVEN, page="a}b{c"), page="a}b{c"),
    good("a page like a second object", at(SEVEN, page='x"}{"page":"y'), page='x"}{"page":"y'),
    good("empty strings", at(SEVEN, visit_id="", page=""), visit_id="", page=""),
    good("spaces are kept", at(SEVEN, visit_id=" 1 "), visit_id=" 1 "),
    good("nulls", at(SEVEN, visit_id=None, page=None), visit_id=None, page=None),
    good("other letters", at(SEVEN, page="été 日本 😀"), page="été 日本 😀"),
    good("other letters as bytes", f'{{{T},"page":"été 日本 😀"}}', page="été 日本 😀"),
    good("a question mark beside an emoji", at(SEVEN, page="😀?"), page="😀?"),
    good("a backslash before u0000", at(SEVEN, page="\\u0000 ?\\ud800"), page="\\u0000 ?\\ud800"),
    good("escaped names", '{"event\\u005ftime":"2025-09-04T07:00:00"}', event_time=SEVEN_UTC),
    good("NUL in a field that is not read", f'{{{T},"x":"\\u0000"}}', event_time=SEVEN_UTC),
    good("the same name deeper down", f'{{{T},"x":{{"event_time":1,"page":2,"page":3}}}}', page=None),
    good("an empty name", f'{{{T},"":1,"page":"p"}}', page="p"),
    good("white space around", f' \t\r\n{{ {T} , "page" : "p" }}\r\n ', page="p"),
    good("nested, white space after", f'{{{T},"x":{{}}}}\n', event_time=SEVEN_UTC),
    good("an array at the end", f'{{"x":[{{}},{{}}],{T}}}', event_time=SEVEN_UTC),
    good("1 MB of text", at(SEVEN, page="x" * 1_000_000, visit_id=1), visit_id="1"),
    good("1 MB of braces", at(SEVEN, x="}{" * 500_000, visit_id=1), visit_id="1"),
    good("5000 digits as a string", at(SEVEN, visit_id="9" * 5000), visit_id="9" * 5000),
    good("deep, but not too deep", f'{{{T},"x":' + "[" * 400 + "]" * 400 + "}", event_time=SEVEN_UTC),
]
TIMES = [
    ("2025-09-04 07:00:00", SEVEN_UTC),
    ("2025-09-04T07:00", SEVEN_UTC),
    ("2025-09-04T07:00Z", "2025-09-04 07:00:00"),
    ("2025-09-04T07:00+02:00", SEVEN_UTC),
    ("2025-09-04T07:00:00Z", "2025-09-04 07:00:00"),
    ("2025-09-04T07:00:00+02:00", SEVEN_UTC),
    ("2025-09-04T07:00:00+0200", SEVEN_UTC),
    ("2025-09-04T07:00:00+02", SEVEN_UTC),
    ("2025-09-04T00:00:00-05:00", SEVEN_UTC),
    ("2025-09-04T12:45:00.5+05:45", "2025-09-04 07:00:00.5"),
    ("2025-09-04T07:00:00-00:00", "2025-09-04 07:00:00"),
    ("2025-09-04T07:00:00.1", "2025-09-04 05:00:00.1"),
    ("2025-09-04T07:00:00.123456", "2025-09-04 05:00:00.123456"),
    ("2025-09-04T07:00:00.123456789", "2025-09-04 05:00:00.123456"),
    ("2025-09-04T07:00:00.123456789Z", "2025-09-04 07:00:00.123456"),
    ("2024-02-29T00:00:00Z", "2024-02-29 00:00:00"),
    ("1970-01-01T00:00:00Z", "1970-01-01 00:00:00"),
    # The gap of 30 March: there is no 02:30 in Paris, it is taken as 03:30. On 27 October 2024 there are two: the first.
    ("2025-03-30T02:30:00", "2025-03-30 01:30:00"),
    ("2024-10-27T02:30:00", "2024-10-27 00:30:00"),
]
NOT_TIMES = [
    *("07:00:00", "T07:00:00", "2025-09-04", "2025-09", "2025-09-04T07", "now", "epoch", "today", "", " ", "abc", "null"),
    *("2025-02-30T00:00:00", "2025-02-29T00:00:00Z", "2025-13-01T00:00:00", "2025-00-10T00:00:00", "2025-04-31T00:00:00"),
    *("2025-09-04T24:00:00", "2025-09-04T23:59:60Z", "2025-09-04T07:60:00", "2025-09-04T07:00:00+19:00"),
    *("2025-09-04T07:00:00+02:60", "2025-09-04T07:00:00z", "2025-09-04t07:00:00", "2025-09-04T07:00:00."),
    *("2025-09-04T07:00:00.1234567891", "2025-09-04T07:00:00,5", "2025-9-4T7:0:0", " 2025-09-04T07:00:00"),
    *("2025-09-04T07:00:00 ", "2025-09-04T07:00:00\n", "2025-09-04T07:00:00 Z", "2025-09-04T07:00:00 Europe/Paris"),
    *("2025-09-04T07:00:00[Europe/Paris]", "2025-09-04T07:00:00+02:00[Europe/Paris]", "2025-09-04T07:00:00UTC"),
    *("20250904T070000Z", "2025-W36-4T07:00:00", "2025-247T07:00:00", "٢٠٢٥-09-04T07:00:00", "2025-09-04T07:00:00+2:00"),
    *("2025-09-04T07:00:00+02:00:00", "04/09/2025 07:00:00", "2025-09-04TT07:00:00", "x" * 100_000),
]
OUT_OF_RANGE = [
    *("9999-01-01T00:00:00Z", "9999-12-31T23:59:59", "9999-06-01T00:00", "0000-01-01T00:00:00", "0001-01-01T00:00:00Z"),
    *("-0001-01-01T00:00:00", "-2025-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z", "+2025-01-01T00:00:00"),
    *("10000-01-01T00:00:00", "+12025-01-01T00:00:00Z", "999999-01-01T00:00:00", "294248-01-01T00:00:00Z"),
    "1970-01-01T00:30:00",  # in Paris: 1969 in UTC
]
NUMBERS = [
    *("1756969200", "1756969200000", "1756969200000000", "1756969200.5", "0", "-1", "1.7569692e9", "1e999", "-1e999"),
    *("1" + "0" * 500, '"1756969200"', '"2025"', "2025", "1e3", "1e-7"),
]
BROKEN = [
    bad("null value", "a tombstone", None),
    bad("empty record", "no bytes", b""),
    bad("empty record", "blanks", b"  "),
    bad("empty record", "line ends", b"\r\n\t"),
    bad("not UTF-8", "a stray byte", b'{"event_time":"2025-09-04T07:00:00","page":"\xff"}'),
    bad("not UTF-8", "a stray byte in a field that is not read", b'{"event_time":"2025-09-04T07:00:00","x":"\xc3\x28"}'),
    bad("not UTF-8", "Latin-1", '{"event_time":"2025-09-04T07:00:00","page":"été"}'.encode("latin-1")),
    bad("not UTF-8", "a surrogate in UTF-8", b'{"event_time":"2025-09-04T07:00:00","page":"\xed\xa0\x80"}'),
    bad("not UTF-8", "an overlong slash", b'{"event_time":"2025-09-04T07:00:00","page":"\xc0\xaf"}'),
    bad("not UTF-8", "UTF-16 with its mark", f"{{{T}}}".encode("utf-16")),
    bad("NUL character", "UTF-16 without a mark", f"{{{T}}}".encode("utf-16-le")),
    bad("NUL character", "UTF-32", f"{{{T}}}".encode("utf-32-be")),
    bad("NUL character", "only NULs", b"\0\0"),
    bad("NUL character", "raw in a string", f'{{{T},"page":"a\0b"}}'),
    bad("NUL character", "escaped in a string", f'{{{T},"page":"a\\u0000b"}}'),
    bad("NUL character", "escaped in an id", f'{{{T},"visit_id":"\\u0000"}}'),
    bad("not JSON", "UTF-8 with a mark", b"\xef\xbb\xbf" + f"{{{T}}}".encode()),
    bad("not JSON", "truncated", f"{{{T}"),
    bad("not JSON", "truncated in a string", '{"event_time":"2025-09-04T07'),
    bad("not JSON", "words", "hello"),
    bad("not JSON", "single quotes", "{'event_time':'2025-09-04T07:00:00'}"),
    bad("not JSON", "names without quotes", '{event_time:"2025-09-04T07:00:00"}'),
    bad("not JSON", "a comma too many", f"{{{T},}}"),
    bad("not JSON", "a comment", f"{{/* */{T}}}"),
    bad("not JSON", "NaN", f'{{{T},"visit_id":NaN}}'),
    bad("not JSON", "Infinity in a field that is not read", f'{{{T},"x":Infinity}}'),
    bad("not JSON", "a leading zero", f'{{{T},"visit_id":01}}'),
    bad("not JSON", "a raw newline in a string", f'{{{T},"page":"a\nb"}}'),
    bad("not JSON", "Python", "{'event_time': None}"),
    bad("not JSON", "100,000 deep", f'{{{T},"x":' + "[" * 100_000 + "]" * 100_000 + "}"),
    bad("not JSON", "100,000 deep in a field that is read", f'{{{T},"page":' + '{"a":' * 100_000 + "1" + "}" * 100_001),
    bad("not JSON", "only opened", "[" * 100_000),
    bad("not JSON", "a number of 5,000 digits", f'{{{T},"visit_id":' + "9" * 5000 + "}"),
    bad("not JSON", "such a number where it is not read", f'{{{T},"x":' + "9" * 5000 + "}"),
    bad("not JSON", "1 MB of nothing", b"x" * 1_000_000),
    bad("not JSON", "two numbers", "1 2"),
    bad("not an object", "an array", f"[{{{T}}}]"),
    bad("not an object", "an empty array", "[]"),
    bad("not an object", "a string", '"2025-09-04T07:00:00"'),
    bad("not an object", "a number", " 5"),
    bad("not an object", "null", "null"),
    bad("not an object", "true", "true"),
    bad("lone surrogate", "the first half", f'{{{T},"page":"\\ud800"}}'),
    bad("lone surrogate", "the second half", f'{{{T},"visit_id":"a\\uDC00b"}}'),
    bad("lone surrogate", "the wrong way round", f'{{{T},"page":"\\udc00\\ud83d"}}'),
    bad("more than one object", "side by side", f"{{{T}}}{{{T}}}"),
    bad("more than one object", "on two lines", f"{{{T}}}\n{{{T}}}\n"),
    bad("more than one object", "with a comma", f"{{{T}}},{{{T}}}"),
    bad("more than one object", "the second is empty", f"{{{T}}}{{}}"),
    bad("more than one object", "both are empty", "{}{}"),
    bad("more than one object", "a nested one first", f'{{{T},"x":{{}}}}{{{T}}}'),
    bad("more than one object", "words behind", f"{{{T}}}xyz"),
    bad("more than one object", "a number behind", f"{{{T}}} 1"),
    bad("more than one object", "a brace behind", f"{{{T}}}}}"),
    bad("more than one object", "a bracket behind", f"{{{T}}}]"),
    bad("more than one object", "a clever bracket behind", f"{{{T}}}],[{{{T}}}"),
    bad("more than one object", "a clever name behind", f'{{{T}}},"x":{{}}'),
    bad("more than one object", "an empty name and more behind", f'{{{T},"":0}} x}}'),
    bad("more than one object", "a NUL behind", f"{{{T}}}\0"),
    bad("more than one object", "half an object behind", f'{{{T}}}{{"page"'),
    bad("duplicate key", "the time twice", f"{{{T},{T}}}"),
    bad("duplicate key", "a page twice", f'{{{T},"page":"a","page":"b"}}'),
    bad("duplicate key", "written apart", f'{{{T},"page" : "a","page"\t:"b"}}'),
    bad("duplicate key", "once escaped", f'{{{T},"page":"a","p\\u0061ge":"b"}}'),
    bad("duplicate key", "a field that is not read", f'{{{T},"x":1,"x":2}}'),
    bad("duplicate key", "once null", f'{{{T},"page":"a","page":null}}'),
    bad("duplicate key", "beside other nulls", f'{{{T},"page":"a","page":"b","browser":null}}'),
]
NO_TIME = [
    bad("no event_time", "an empty object", "{}"),
    bad("no event_time", "an empty object and a line end", "{ }\n"),
    bad("no event_time", "only other fields", '{"visit_id":1}'),
    bad("no event_time", "null", at(None)),
    bad("no event_time", "both spellings null", at(None, eventTime=None)),
    bad("no event_time", "deeper down", '{"context":{"event_time":"2025-09-04T07:00:00"}}'),
    bad("event_time is not a time", "the canonical spelling is garbage", at("x", eventTime=SEVEN)),
    bad("event_time is not a time", "a boolean", at(True)),
    bad("event_time is not a time", "an object", at({"a": SEVEN})),
    bad("event_time is not a time", "an array", at([SEVEN])),
]
WRONG_TYPES = [
    bad(f"wrong type: {name}", f"{name}: {value[:20]}", f'{{{T},"{name}":{value}}}', event_time=SEVEN_UTC)
    for names, values in (
        (("visit_id", "user_id"), ("1.0", "1e3", "1.5", "1E2", "-0.0", "1e999", "true", "false", "{}", '{"a":1}', "[]", "[1]")),
        (("event_id", "page", "browser"), ("0", "1", "-1", "1.5", "1e999", "9" * 30, "true", "false", "{}", "[]", '["a"]')),
    )
    for name in names
    for value in values
] + [
    bad("wrong type: user_id", "the other spelling", at(SEVEN, userId=1.5)),
    bad("wrong type: user_id", "the canonical one wins", at(SEVEN, user_id=1.5, userId="u")),
    bad("wrong type: visit_id", "the first of two", at(SEVEN, page=1, visit_id=True)),
]
FUTURE = [
    good("an hour ahead", at("2025-09-04T08:00:00Z"), event_time="2025-09-04 08:00:00"),
    bad(
        "event_time in the future",
        "a microsecond more",
        at("2025-09-04T08:00:00.000001Z"),
        event_time="2025-09-04 08:00:00.000001",
    ),
    bad("event_time in the future", "noon", at(NOON), event_time="2025-09-04 10:00:00"),
    bad("event_time in the future", "2036", at("2036-01-01T00:00:00Z"), event_time="2036-01-01 00:00:00"),
    bad(
        "event_time in the future",
        "the last moment",
        at("9998-12-31T23:59:59.999999Z"),
        event_time="9998-12-31 23:59:59.999999",
    ),
    bad("event_time in the future", "before a wrong type", at(NOON, visit_id=True)),
]
CASES = [
    *GOOD,
    *(good(f"time: {text}", at(text), event_time=time) for text, time in TIMES),
    *BROKEN,
    *NO_TIME,
    *(bad("event_time is not a time", f"time: {text[:50]!r}", at(text), event_time=None) for text in NOT_TIMES),
    *(bad("event_time out of range", f"time: {text}", at(text), event_time=None) for text in OUT_OF_RANGE),
    *(bad("event_time is a number", f"number: {text[:20]}", f'{{"event_time":{text}}}', event_time=None) for text in NUMBERS),
    *WRONG_TYPES,
    *FUTURE,
]
