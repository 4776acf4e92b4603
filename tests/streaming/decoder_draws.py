"""Topics with drawn schemas, and records of them: good ones, and ones that are wrong in every way that is known. By seed."""

from __future__ import annotations

import json
from random import Random

from hypothesis import HealthCheck, Phase, given, settings

from anabranch.pipeline.schema import Array, Decimal, Field, Map, Scalar, Struct, Type
from anabranch.pipeline.topic import Topic
from tests.support.schemas import schemas

_STRINGS = [
    "",
    "x",
    "été 日本",
    "a b",
    "5",
    "true",
    "{}",
    'q"uote',
    "back\\slash",
    "\\u0000",
    "?",
    "😀",
    "a}b{c",
    "null",
    "line\nend",
]
_TIMES = [
    *(
        "2025-09-04T07:00:00",
        "2025-09-04 06:59",
        "2025-09-04T05:00:00.123456789Z",
        "2025-03-30T02:30:00",
        "1999-12-31T23:59+0100",
    ),
    *("2024-02-29T00:00:00.5-02", "2025-09-04T07:00:00+02:00", "2024-10-27T02:30:00"),
]
_USUAL_TIMES = [time for time in _TIMES if len(time) > 18 and time[16] == ":" and not time.endswith("-02")]
_WRONG = [
    *(
        "1",
        "-0",
        "0.0",
        "1.5",
        "1e3",
        "1E-7",
        "1e400",
        "-1e999",
        "true",
        "false",
        "null",
        "{}",
        "[]",
        '"x"',
        '"5"',
        "[1]",
        '{"a":1}',
    ),
    *("2147483647", "2147483648", "-2147483649", "9223372036854775808", "123456789012345678901234567890", "0.005", "-0.015"),
    *("99999999999999999999999999999999999999999", "1e999999999", "1e-999999999", "12345678901234567890.0", "1.0"),
    *("1e99999999999", "-1E+2147483648", "1e-99999999999", "0.00e99999999999"),
    *('"2025-02-30T00:00:00"', '"9999-06-01T00:00:00Z"', '"0001-01-01T00:00:00Z"', '"10000-01-01T00:00:00"', '"2025-09-04"'),
    *('"2025-13-04"', '"0000-01-01"', '"2036-01-01T00:00:00Z"', '"1969-01-01T00:00:00Z"', "1756969200", '"NaN"', '"Infinity"'),
    *('"\\ud800"', '"a\\udc00b"', '"\\ud83d\\ude00"', '"a\\u0000b"', '{"x":"\\u0000"}', '["\\ud800"]', '{"\\u0000":1}'),
    *(
        '{"a":1,"a":2}',
        '[{"b":{"c":1,"c":2}}]',
        '{"id":null}',
        "[null]",
        '[1,"x"]',
        "[[1],[2.5]]",
        "[1,2.5,1e3]",
        '[{"id":1},5]',
    ),
]
# Of keys that are not read: anything that is JSON.
_UNREAD = [
    "1",
    '"x"',
    "null",
    '{"a":{"b":[[[1]]]}}',
    '{"a":1,"a":2}',
    '"\\ud800"',
    '"\\u0000"',
    "1e999999999",
    '[{"<":"`"},{}]',
]
_BEHIND = ["{}", "x", "]", "}", ",", ' {"a":1}', '],[{"a":1}', ',"end":0}', ',"end":0} x', "\n", " \t", '"']


def topics(count: int) -> list[Topic]:
    """Each with an event time, some with aliases and ids that may be integers; the same ones at every run."""
    found: list[Topic] = []

    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(schemas())
    def collect(schema: Struct) -> None:
        random = Random(schema.ddl())
        fields = [field for field in schema.fields if field.name != "at"]
        if len(found) % 2:
            fields = [Field(f"f{number}", _usual(field.type), field.is_required) for number, field in enumerate(fields)]
        fields.insert(random.randrange(len(fields) + 1), Field("at", Scalar("TIMESTAMP"), random.random() < 0.5))
        aliases = tuple((field.name, f"{field.name}_2") for field in fields if random.random() < 0.3)
        ids = tuple(field.name for field in fields if field.type == Scalar("STRING") and random.random() < 0.5)
        found.append(Topic("drawn", Struct(tuple(fields)), "at", aliases=aliases, integers_as_text=ids))

    collect()
    return found


def _usual(type_: Type) -> Type:
    """A type of which usual records match: plain names, and a MAP of scalars."""
    match type_:
        case Array(element):
            return Array(_usual(element))
        case Map(value):
            inner = _usual(value)
            return Map(inner if isinstance(inner, Scalar | Decimal) else Scalar("INT"))
        case Struct(fields):
            named = enumerate(fields)
            return Struct(tuple(Field(f"f{place}", _usual(one.type), one.is_required) for place, one in named))
        case _:
            return type_


def values(topic: Topic, count: int) -> list[bytes | None]:
    random = Random(topic.schema.ddl())
    return [None, b"", b" \n", *(_record(topic, random) for _ in range(count))]


def _record(topic: Topic, random: Random) -> bytes:
    """Half of them are written as producers usually do, or nearly so."""
    return _written(topic, random, random.choice([0.0, 0.0, 0.05, 0.3]), is_usual=random.random() < 0.5)


def _written(topic: Topic, random: Random, wrongness: float, *, is_usual: bool) -> bytes:
    pairs = [
        (_key(topic, field, random), _value(field.type, random, wrongness, is_usual=is_usual)) for field in topic.schema.fields
    ]
    pairs = [(key, text) for key, text in pairs if random.random() > wrongness / 4]
    unread = [*_UNREAD[:3], '[1,{"a":2}]'] if is_usual else _UNREAD
    pairs += [(f"unread{number}", random.choice(unread)) for number in range(random.choice([0, 0, 1, 3]))]
    if pairs and random.random() < wrongness / 4:
        pairs.append(random.choice(pairs))
    if not is_usual or random.random() < 0.3:
        random.shuffle(pairs)
    colon = random.choice([":", ": "] if is_usual else [":", ": ", " :\n"])
    written = (json.dumps(key, ensure_ascii=not is_usual and random.random() < 0.5) + colon + text for key, text in pairs)
    text = f"{{{','.join(written)}}}"
    value = (text + (random.choice(_BEHIND) if random.random() < wrongness / 2 else "")).encode()
    return _mutated(value, random) if random.random() < wrongness / 2 else value


def _key(topic: Topic, field: Field, random: Random) -> str:
    return random.choice(topic.spellings(field.name)) if random.random() < 0.3 else field.name


def _mutated(value: bytes, random: Random) -> bytes:
    place = random.randrange(len(value))
    inserted = random.choice([b"", b"}", b"{", b'"', b"\\", b",", b":", b"\0", b"1", b"\xff", b"[", b"]"])
    return random.choice(
        [value[:place], value[:place] + inserted + value[place:], value[:place] + inserted + value[place + 1 :]]
    )


def _value(type_: Type, random: Random, wrongness: float, *, is_usual: bool) -> str:
    """As JSON."""
    if random.random() < wrongness / 2:
        return random.choice(_WRONG)
    if random.random() < 0.05:
        return "null"
    match type_:
        case Array(element):
            elements = (_value(element, random, wrongness / 2, is_usual=is_usual) for _ in range(random.randrange(4)))
            return f"[{','.join(elements)}]"
        case Map(value):
            keys = random.sample(["a", "b c", "`", "<d>", "é", ""], random.randrange(4))
            pairs = (
                f"{json.dumps(key, ensure_ascii=not is_usual)}:{_value(value, random, wrongness / 2, is_usual=is_usual)}"
                for key in keys
            )
            return f"{{{','.join(pairs)}}}"
        case Struct(fields):
            parts = [
                f"{json.dumps(one.name)}:{_value(one.type, random, wrongness / 2, is_usual=is_usual)}"
                for one in fields
                if random.random() > 0.03
            ]
            unread = _UNREAD[: 3 if is_usual else 4]
            parts += [f'"unread":{random.choice(unread)}'] if random.random() < 0.2 else []
            return "{" + ",".join(parts if is_usual else random.sample(parts, len(parts))) + "}"
        case Decimal(precision, scale):
            digits = random.randrange(10 ** random.randrange(1, precision + 1))
            number = f"{digits // 10**scale}.{digits % 10**scale:0{scale}}" if scale else str(digits)
            return random.choice(["", "-"]) + number + ("5" if scale and len(number) < 30 and random.random() < 0.2 else "")
        case Scalar("TIMESTAMP"):
            return json.dumps(random.choice(_USUAL_TIMES if is_usual else _TIMES))
        case Scalar(name):
            return _scalar(name, random)


def _scalar(name: str, random: Random) -> str:
    match name:
        case "STRING":
            return json.dumps(random.choice(_STRINGS), ensure_ascii=random.random() < 0.5)
        case "INT" | "BIGINT":
            most = 2 ** random.randrange(1, 32 if name == "INT" else 64)
            return str(random.randrange(-most // 2, most // 2))
        case "DOUBLE":
            return random.choice(
                [repr(random.uniform(-1e6, 1e6)), str(random.randrange(10**6)), f"{random.random():.17e}", "0.1", "1E5"]
            )
        case "BOOLEAN":
            return random.choice(["true", "false"])
        case _:
            return f'"{random.randrange(1, 9999):04}-{random.randrange(1, 13):02}-{random.randrange(1, 29):02}"'
