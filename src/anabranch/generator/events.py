"""Events of any topic, made from its schema for a recipe's timeline. Pure, and the same on every Python.

* An id of the event itself (`id`, `event_id`, or named as the topic: `order_id` in `orders`) counts up; an id of anything else
  names one of a pool, so that groups repeat.
* The record's key is the first id of the schema, or its first STRING that is NOT NULL, or the record's number. It is there
  even where the field is missing in the value.
* Fields come under their own names, never under an alias.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

from anabranch.generator.recipe import Recipe
from anabranch.generator.spoil import Fault, field_faults, half_character, repeated_key, spoil, time_faults, unreadable_faults
from anabranch.generator.timeline import Chance, Event, Made, timeline
from anabranch.generator.values import Draw, Values, is_id, joined
from anabranch.generator.visits import USERS_PER_VISITOR
from anabranch.generator.words import words_of
from anabranch.pipeline.schema import Field, Scalar
from anabranch.pipeline.topic import Topic


def events(topic: Topic, recipe: Recipe) -> Iterator[Made]:
    """The records of a recipe, without an end before the year 9750."""
    random = Random(recipe.seed).random
    return timeline(recipe, random, _Events(topic, recipe, random))


def faults_of(topic: Topic) -> tuple[Fault, ...]:
    texts = [field.name for field in topic.schema.fields if field.type == Scalar("STRING")]
    is_ascii = all(map(str.isascii, topic.schema.names))
    return (
        *time_faults(topic.event_time),
        *field_faults(topic),
        repeated_key(topic.event_time),
        *(half_character(name) for name in texts[:1]),
        *unreadable_faults([*texts, topic.event_time][0], is_ascii=is_ascii),
    )


def key_field(topic: Topic) -> Field | None:
    """None: no field says what a record is about."""
    plain = [field for field in topic.schema.fields if field.type in (Scalar("STRING"), Scalar("INT"), Scalar("BIGINT"))]
    ids = [field for field in plain if is_id(field.name)]
    texts = [field for field in plain if field.type == Scalar("STRING") and field.is_required]
    return next(iter((*ids, *texts)), None)


def _is_own_id(field: Field, topic: Topic) -> bool:
    """Whether it names the event, and not what the event is about."""
    return is_id(field.name) and words_of(field.name)[:-1] in ([], ["event"], *([word] for word in words_of(topic.name)))


class _Events:
    def __init__(self, topic: Topic, recipe: Recipe, random: Chance) -> None:
        self._values = Values(random, recipe.visitors * USERS_PER_VISITOR)
        self._prefix, self._number, self._key_json = f"{recipe.seed}_", 0, ""
        self._event_time, self._faults = topic.event_time, faults_of(topic)
        self._time_json = f",{json.dumps(topic.event_time, ensure_ascii=False)}:"
        self._draw_key = self._key(topic)
        at = topic.schema.names.index(topic.event_time)
        draws = [self._field(field, topic) for field in topic.schema.fields]
        self._before, self._behind = draws[:at], draws[at + 1 :]

    def draw(self, number: int, clock_us: int) -> Event:
        self._number = number
        self._key_json = key = self._draw_key(clock_us)
        before = f'{joined(self._before, clock_us)}{self._time_json}"'[1:]
        return key.encode(), f"{{{before}", f'"{joined(self._behind, clock_us)}}}'

    def tell(self, key: bytes, event_time: str, text: str) -> str:
        return f'"key":"{key.decode()}","event_time":"{event_time}","problem":null,"event":{text}'

    def spoil(self, made: Made, fate: float) -> Made:
        spoiled = spoil(made.value, self._faults, fate)
        text = spoiled.value.decode() if spoiled.is_readable else "null"
        time, was = ((json.loads(one) or {}).get(self._event_time) for one in (text, made.value))
        known = {"key": made.key.decode(), "event_time": time if time == was else None, "problem": spoiled.problem}
        return made._replace(value=spoiled.value, facts=f'{json.dumps(known, separators=(",", ":"))[1:-1]},"event":{text}')

    def _key(self, topic: Topic) -> Draw:
        field = key_field(topic)
        draw = self._value(field, topic) if field else self._own_id
        return lambda clock_us: draw(clock_us).strip('"')

    def _field(self, field: Field, topic: Topic) -> Draw:
        if field == key_field(topic):
            quote = '"' if field.type == Scalar("STRING") else ""
            return self._values.field(field, lambda _: f"{quote}{self._key_json}{quote}")
        return self._values.field(field, self._value(field, topic))

    def _value(self, field: Field, topic: Topic) -> Draw:
        if _is_own_id(field, topic) and field.type == Scalar("STRING"):
            return self._own_id
        if _is_own_id(field, topic) and field.type in (Scalar("INT"), Scalar("BIGINT")):
            return lambda _: str(self._number)
        return self._values.of(field.type, field.name)

    def _own_id(self, _clock_us: int) -> str:
        return f'"{self._prefix}{self._number}"'
