"""Seeded values of any type of a schema, as JSON texts, chosen by type and by what the field's name suggests. Pure.

A value is drawn by a function that was made once for its field, so that a record costs a call and a random number or two for
each. A product of two random numbers tends to be small: some values are common and others rare, as in real data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from anabranch.generator.timeline import MINUTE_US, Chance, day_of, day_text, time_text
from anabranch.generator.words import ANY_NUMBER, KEYS, NUMBERS, TEXTS, known_word, words_of
from anabranch.pipeline.schema import Array, Decimal, Field, Map, Scalar, Struct, Type

# From the event clock to a JSON text. Of a field: with its key and a comma before it, or nothing.
Draw = Callable[[int], str]

# Of the values that need not be there.
MISSING_SHARE, NULL_SHARE = 0.05, 0.05
# Of an ARRAY or a MAP.
_MOST_ELEMENTS = 3
# Where a name says nothing, this many different texts.
_FEW_TEXTS = 20
# A time that is not the event's own is up to an hour before it, a date up to 30 days.
_EARLIER_US, _EARLIER_DAYS = 60 * MINUTE_US, 30
_DIGITS = 2  # behind a decimal point
_MOST_INT = 2**31 - 1


def is_id(name: str) -> bool:
    words = words_of(name)
    return bool(words) and words[-1] in ("id", "uuid", "guid")


@dataclass(frozen=True)
class Values:
    random: Chance
    # How many different things an id of something else names.
    pool: int

    def field(self, field: Field, draw: Draw | None = None) -> Draw:
        """The field with its key. What is not NOT NULL is sometimes missing and sometimes null."""
        key = f",{json.dumps(field.name, ensure_ascii=False)}:"
        value = draw or self.of(field.type, field.name)
        if field.is_required:
            return lambda clock_us: key + value(clock_us)
        random, null, null_below = self.random, f"{key}null", MISSING_SHARE + NULL_SHARE

        def sometimes(clock_us: int) -> str:
            fate = random()
            if fate < null_below:
                return null if fate < NULL_SHARE else ""
            return key + value(clock_us)

        return sometimes

    def of(self, type_: Type, name: str) -> Draw:
        words = words_of(name)
        match type_:
            case Scalar("STRING"):
                return self._text(words, name)
            case Scalar("BOOLEAN"):
                random = self.random
                return lambda _: "true" if random() < 0.75 else "false"
            case Scalar("TIMESTAMP"):
                random = self.random
                return lambda clock_us: f'"{time_text(clock_us - int(random() * _EARLIER_US))}"'
            case Scalar("DATE"):
                random = self.random
                return lambda clock_us: f'"{day_text(day_of(clock_us) - int(random() * _EARLIER_DAYS))}"'
            case Scalar("DOUBLE"):
                return self._decimal(words, _DIGITS, 15)
            case Scalar():
                return self._integer(words, name, is_long=type_.name == "BIGINT")
            case Decimal(precision, scale):
                return self._decimal(words, min(_DIGITS, scale), precision - scale)
            case _:
                return self._nested(type_, name)

    def _nested(self, type_: Array | Map | Struct, name: str) -> Draw:
        random = self.random
        match type_:
            case Array(element):
                one = self.of(element, name)
                return lambda clock_us: f"[{','.join([one(clock_us) for _ in _several(random)])}]"
            case Map(value):
                one, keys = self.of(value, name), [f'"{key}":' for key in KEYS]
                return lambda clock_us: f"{{{','.join([keys[n] + one(clock_us) for n in _several(random)])}}}"
            case Struct(fields):
                draws = [self.field(field) for field in fields]
                return lambda clock_us: f"{{{joined(draws, clock_us)[1:]}}}"

    def _text(self, words: list[str], name: str) -> Draw:
        if is_id(name):
            random, pool, stem = self.random, self.pool, "_".join(words[:-1]) or "id"
            return lambda _: f'"{stem}_{int(random() * pool)}"'
        known = known_word(words, TEXTS)
        stem = "_".join(words) if words and name.isascii() else "text"
        return self._one_of(TEXTS[known] if known else [f"{stem}_{n}" for n in range(1, _FEW_TEXTS + 1)])

    def _one_of(self, texts: Iterable[str]) -> Draw:
        random, choices = self.random, [f'"{text}"' for text in texts]
        count = len(choices)
        return lambda _: choices[int(random() * random() * count)]

    def _integer(self, words: list[str], name: str, *, is_long: bool) -> Draw:
        random, pool = self.random, self.pool
        if is_id(name):
            return lambda _: str(1 + int(random() * pool))
        if words and words[-1] in ("at", "ts", "time", "timestamp"):
            return lambda clock_us: str(clock_us // 1000 if is_long else min(clock_us // 1_000_000, _MOST_INT))
        least, most = NUMBERS[known] if (known := known_word(words, NUMBERS)) else ANY_NUMBER
        return lambda _: str(least + int(random() * random() * (most - least + 1)))

    def _decimal(self, words: list[str], digits: int, whole_digits: int) -> Draw:
        """With so many digits behind the point, and at most so many before it."""
        least, most = NUMBERS[known] if (known := known_word(words, NUMBERS)) else ANY_NUMBER
        unit, limit = 10**digits, 10 ** (whole_digits + digits) - 1
        lowest, highest = max(least * unit, -limit), min(most * unit, limit)
        if lowest > highest:  # a DECIMAL(1,1) holds no amount of 1
            lowest = 0
        random, span = self.random, highest - lowest + 1
        if not digits:
            return lambda _: str(lowest + int(random() * random() * span))

        def draw(_clock_us: int) -> str:
            units = lowest + int(random() * random() * span)
            whole, rest = divmod(abs(units), unit)
            return f"{'-' if units < 0 else ''}{whole}.{rest:0{digits}d}"

        return draw


def joined(draws: Iterable[Draw], clock_us: int) -> str:
    return "".join([draw(clock_us) for draw in draws])


def _several(random: Chance) -> range:
    return range(int(random() * (_MOST_ELEMENTS + 1)))
