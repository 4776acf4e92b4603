"""What an audit leaves to the next one: which windows that must judge again, and when it must judge all of them. Pure.

A result that was right stays right as long as the code, the stream and the tables stay, no record of its window comes to the
lake, and no batch runs again. So what came since, and what was wrong, is all that there is to look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from anabranch.audit import messages
from anabranch.audit.verdict import Audit, Pins
from anabranch.audit.windows import closed_until_ms
from anabranch.errors import Reason
from anabranch.pipeline.windows import Windows
from anabranch.reprocess.messages import (
    LAKE_REPLACED,
    RESULT_PARTITIONS_CHANGED,
    RESULT_TOPIC_RECREATED,
    SOURCE_TOPIC_RECREATED,
    STREAM_REPLACED,
)
from anabranch.text.format import utc_ms


@dataclass(frozen=True)
class Seen:
    """The newest audit of all that is known."""

    audit: Audit
    # When each window begins that it, or one of a range since, has found wrong: in order.
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class Inputs:
    """What results follow from, or are in, as it is now: named as in `Pins`."""

    code: str
    stream_id: str
    lake_id: str
    source_topic_id: str | None
    result_topic_id: str | None
    # Of the topic of results.
    partitions: int
    # Whether an operation has taken batches back, or restored them, since.
    was_rewound: bool


def changes_since(last: Pins, now: Inputs) -> Iterator[Reason]:
    """Why what was right then may be wrong now."""
    if now.code != last.code:
        yield messages.OTHER_CODE_SINCE()
    if now.was_rewound:
        yield messages.REWOUND_SINCE()
    if now.stream_id != last.stream_id:
        yield STREAM_REPLACED()
    if now.lake_id != last.lake_id:
        yield LAKE_REPLACED()
    if now.source_topic_id != last.source_topic_id:
        yield SOURCE_TOPIC_RECREATED()
    if now.result_topic_id != last.result_topic_id:
        yield RESULT_TOPIC_RECREATED()
    elif now.partitions != len(last.results):
        yield RESULT_PARTITIONS_CHANGED(now=now.partitions, before=len(last.results))


def seen_until_ms(last: Pins, windows: Windows) -> int:
    """Windows that begin before this were closed."""
    return closed_until_ms(0 if last.watermark is None else utc_ms(last.watermark), windows)
