"""The key of a result, as it is typed: which values its records have. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from anabranch.errors import Misused, Reason
from anabranch.explanation import messages
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.schema import Field
from anabranch.text.format import iso_utc

# Of a result's key (streaming/results.py).
WINDOW_START = "window_start"


def key_fields(pipeline: Pipeline) -> tuple[str, ...]:
    return tuple(name for name in pipeline.grouping if name != "window")


def fields_of_records(pipeline: Pipeline, start_ms: int) -> list[Field]:
    """Of its topic, by their names. Refuses a key whose fields are computed."""
    found = {name: pipeline.topic.schema.field(name) for name in key_fields(pipeline)}
    if computed := [name for name, field in found.items() if field is None]:
        raise messages.KEY_COMPUTED(
            pipeline=pipeline.name, fields=computed, topic=pipeline.topic.name, window=iso_utc(start_ms)
        )
    return [field for field in found.values() if field is not None]


def check_key(pipeline: Pipeline, start_ms: int, text: str) -> None:
    """Before anything is started for it."""
    parse_key(pipeline, start_ms, text)
    fields_of_records(pipeline, start_ms)


def parse_key(pipeline: Pipeline, start_ms: int, text: str) -> Mapping[str, Any]:
    """Its values by field, without the window."""
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise malformed(pipeline, messages.KEY_NOT_AN_OBJECT())
    window = given.pop(WINDOW_START, None)
    if window is not None and not _begins(window, start_ms):
        raise malformed(pipeline, messages.KEY_OTHER_WINDOW(given=str(window), start=iso_utc(start_ms)))
    if set(given) != set(key_fields(pipeline)):
        names = messages.KEY_OTHER_FIELDS(given=sorted(given) or ["none"], fields=list(key_fields(pipeline)) or ["none"])
        raise malformed(pipeline, names)
    return given


def malformed(pipeline: Pipeline, reason: Reason) -> Misused:
    example = json.dumps(dict.fromkeys(key_fields(pipeline), "..."))
    return messages.KEY_MALFORMED(pipeline=pipeline.name, reason=reason, example=example)


def _begins(text: object, start_ms: int) -> bool:
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        return False
    return moment.tzinfo is not None and round(moment.timestamp() * 1000) == start_ms
