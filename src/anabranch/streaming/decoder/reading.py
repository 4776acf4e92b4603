"""The fields of a topic, as both ways of reading a record (match.py, parse.py) know them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.pipeline.schema import Field, Struct, Type
from anabranch.pipeline.topic import Topic

# The names from the top level down to a value inside of STRUCTs.
Path = tuple[str, ...]


@dataclass(frozen=True)
class ReadField:
    # The event time is number 0, the others follow in the schema's order.
    number: int
    field: Field
    # The keys that it may have, the first that is there and not null counts.
    keys: tuple[str, ...]
    takes_integers: bool
    is_event_time: bool
    zone: str

    @property
    def is_required(self) -> bool:
        return self.field.is_required or self.is_event_time

    @property
    def paths(self) -> Iterator[Path]:
        """Its own, then those of what is inside of it."""
        return _paths((self.field.name,), self.field.type)


def _paths(path: Path, type_: Type) -> Iterator[Path]:
    yield path
    if isinstance(type_, Struct):
        for field in type_.fields:
            yield from _paths((*path, field.name), field.type)


def fields_of(topic: Topic, zone: str) -> list[ReadField]:
    """In the schema's order."""
    others = [name for name in topic.schema.names if name != topic.event_time]
    return [
        ReadField(
            number=0 if field.name == topic.event_time else 1 + others.index(field.name),
            field=field,
            keys=topic.spellings(field.name),
            takes_integers=field.name in topic.integers_as_text,
            is_event_time=field.name == topic.event_time,
            zone=zone,
        )
        for field in topic.schema.fields
    ]
