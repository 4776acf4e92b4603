"""How each field of a topic is read, in SQL: from a flat record's texts (flat.py), or from what from_json read (values.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from anabranch.pipeline.schema import Decimal, Field, Scalar, quoted
from anabranch.pipeline.topic import Topic
from anabranch.streaming.decoder.flat import FlatField, flat_value, is_flat
from anabranch.streaming.decoder.shape import TEXT_OR_INTEGER, shape
from anabranch.streaming.decoder.sql import STRICT, TEXT, first_of, literal
from anabranch.streaming.decoder.values import converted, fault, is_converted, is_missing, may_overflow, read_type

# A column: whether the record's texts were found.
IS_FLAT: Final = "_is_flat"
_TEXTS: Final = tuple(map(Scalar, ("STRING", "TIMESTAMP", "DATE")))


@dataclass(frozen=True)
class ReadField:
    number: int
    field: Field
    # The keys that it may have, the first that is there and not null counts.
    keys: tuple[str, ...]
    takes_integers: bool
    is_event_time: bool
    can_be_flat: bool
    zone: str

    @property
    def shape(self) -> str:
        return f"{TEXT_OR_INTEGER}|VOID" if self.takes_integers else shape(self.field.type)

    @property
    def flat(self) -> FlatField:
        return FlatField(self.keys, self.field.type, self.takes_integers)

    @property
    def read_types(self) -> list[str]:
        """As from_json's schema has them."""
        return [f"{quoted(key)}: {read_type(self.field.type)}" for key in self.keys]

    @property
    def parsed(self) -> str:
        """Out of what from_json read."""
        return first_of(*(f"_read.r.{quoted(key)}" for key in self.keys))

    @property
    def read(self) -> str:
        """As it was read: a time is text."""
        parsed = f"_parsed{self.number}"
        if self.can_be_flat and self.field.type in _TEXTS:
            return f"CASE WHEN {IS_FLAT} THEN {flat_value(self.number, self.field.type)} ELSE {parsed} END"
        return parsed

    @property
    def value(self) -> str:
        """As the schema has it."""
        typed = converted(self.read, self.field.type, self.zone)
        if self.can_be_flat and self.field.type not in _TEXTS:
            return f"CASE WHEN {IS_FLAT} THEN {flat_value(self.number, self.field.type)} ELSE {typed} END"
        return typed

    @property
    def is_converted(self) -> bool:
        return is_converted(self.field.type) and not self.is_event_time

    @property
    def column(self) -> str:
        """Where its value is: in a column of its own if it was worked for, else Spark leaves out what is not used."""
        return f"_field{self.number}" if self.is_converted else self.value

    @property
    def doubt(self) -> str:
        """Whether a value of the right shape may be wrong all the same, by its value alone; empty: it may not."""
        if self.is_event_time:
            return ""
        if self.is_converted and isinstance(self.field.type, Scalar | Decimal):
            return f"(NOT {is_missing(self.read, self.field.type)} AND {self.column} IS NULL)"
        return fault(self.read, self.field.type, self.zone)

    @property
    def is_wrong(self) -> str:
        """The same, of a record in which from_json rejected something; inside of problems.py's lambda."""
        if self.is_event_time or not may_overflow(self.field.type):
            return self.doubt or "false"
        *others, last = (
            f"from_json({TEXT}, {literal(f'{quoted(key)} {read_type(self.field.type)}, _corrupt STRING')}, {STRICT})._corrupt"
            for key in self.keys
        )
        cases = "".join(
            f"WHEN try_element_at(read.texts, {literal(key)}) IS NOT NULL THEN {rejected} "
            for key, rejected in zip(self.keys, others, strict=False)
        )
        rejected = f"CASE {cases}ELSE {last} END" if cases else last
        return f"({rejected} IS NOT NULL OR {self.doubt or 'false'})"


def fields_of(topic: Topic, zone: str) -> list[ReadField]:
    return [
        ReadField(
            number=number,
            field=field,
            keys=topic.spellings(field.name),
            takes_integers=field.name in topic.integers_as_text,
            is_event_time=field.name == topic.event_time,
            can_be_flat=is_flat([one.type for one in topic.schema.fields]),
            zone=zone,
        )
        for number, field in enumerate(topic.schema.fields)
    ]
