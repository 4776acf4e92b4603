"""A topic as a value: what its records say (schema, aliases), which of their times is theirs, and where its lake is. Pure.

The decoder follows it, in a stream and in a batch alike, so that all that reads the topic reads the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from anabranch.pipeline import messages
from anabranch.pipeline.schema import Field, Scalar, Struct, is_legal_name, parse_schema
from anabranch.text.format import parse_topic_name
from anabranch.text.suggest import did_you_mean


@dataclass(frozen=True)
class Place:
    """Where something is defined in a user's file."""

    file: str
    line: int

    def describe(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Topic:
    """A topic to read. `define_topic` checks what a user writes."""

    name: str
    schema: Struct
    # A TIMESTAMP of the schema. A record without it has a problem, whether or not it is NOT NULL.
    event_time: str
    # The path of the table that keeps every record; None: none does.
    lake: str | None = None
    # A field, and a key that is read where the field's own is missing or null.
    aliases: tuple[tuple[str, str], ...] = ()
    # STRING fields that may come as integers: their digits are the text.
    integers_as_text: tuple[str, ...] = ()
    place: Place | None = None

    def spellings(self, field: str) -> tuple[str, ...]:
        """The keys of a field in a record, in the order in which they are tried."""
        return (field, *(alias for name, alias in self.aliases if name == field))


def define_topic(
    name: str,
    *,
    schema: str,
    event_time: str,
    lake: str | None = None,
    aliases: Mapping[str, str] | None = None,
    integers_as_text: Sequence[str] = (),
    place: Place | None = None,
) -> Topic:
    """The topic that a user declares, or what is wrong with the declaration."""
    topic = Topic(
        name=parse_topic_name(name),
        schema=parse_schema(schema),
        event_time=event_time,
        lake=lake,
        aliases=tuple((aliases or {}).items()),
        integers_as_text=tuple(integers_as_text),
        place=place,
    )
    _check_event_time(topic)
    _check_aliases(topic)
    for field in (_field(topic, "integers_as_text", one) for one in topic.integers_as_text):
        if field.type != Scalar("STRING"):
            raise messages.INTEGERS_NOT_TEXT(topic=name, name=field.name, type=field.type.describe())
    return topic


def _check_event_time(topic: Topic) -> None:
    name, names = topic.event_time, topic.schema.names
    field = topic.schema.field(name)
    if field is None:
        raise messages.EVENT_TIME_NOT_A_FIELD(topic=topic.name, name=name, suggestion=did_you_mean(name, names))
    if field.type != Scalar("TIMESTAMP"):
        raise messages.EVENT_TIME_NOT_A_TIMESTAMP(topic=topic.name, name=name, type=field.type.describe())


def _check_aliases(topic: Topic) -> None:
    taken = {name.lower() for name in topic.schema.names}
    for name, alias in topic.aliases:
        _field(topic, "aliases", name)
        if not is_legal_name(alias):
            raise messages.ALIAS_ILLEGAL(topic=topic.name, name=name, alias=alias)
        if alias.lower() in taken:
            raise messages.ALIAS_TAKEN(topic=topic.name, name=name, alias=alias)
        taken.add(alias.lower())


def _field(topic: Topic, option: str, name: str) -> Field:
    field = topic.schema.field(name)
    if field is None:
        suggestion = did_you_mean(name, topic.schema.names)
        raise messages.TOPIC_FIELD_UNKNOWN(topic=topic.name, option=option, name=name, suggestion=suggestion)
    return field
