"""What a checkpoint was made with, as a value: written down at the first start of its query, compared at every other one.

Spark itself would not notice: a topic that was deleted and recreated gives no error, other records are read
(docs/internals/hazards.md, O); another window, delay, time zone or number of shuffle partitions on old state gives wrong
results; a second sink on the same checkpoint gets nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anabranch.checkpoint import messages
from anabranch.errors import Reason
from anabranch.text.format import format_duration


@dataclass(frozen=True)
class Baseline:
    """None, where nothing else is said: not known, 0.2.0 did not write it down."""

    # The id in `metadata`. None also: no query has started on it yet.
    query_id: str | None
    # Of the Kafka that it reads.
    cluster_id: str | None
    # Each topic that it reads -> its id.
    topics: Mapping[str, str]
    # As `--to` names it, its path as seen from the project.
    sink: str | None
    # Of the Delta table that it writes to. None also: it writes to none, or has not yet.
    table_id: str | None
    # In which times without a zone are.
    zone: str | None
    # None: it has no such thing.
    window_s: float | None
    slide_s: float | None
    watermark_s: float | None
    shuffle_partitions: str
    # A duration, or "none".
    future_tolerance: str | None
    # Records that a setting leaves out: TOPIC:PARTITION:OFFSET.
    skip: tuple[str, ...]
    # Each code fingerprint that has run on it -> the batch that it began with.
    codes: Mapping[str, int]

    def setting_differences(self, now: Baseline) -> Iterator[Reason]:
        """What is not as it was at the first start, and would make results wrong: a start is refused."""
        if _differ(self.sink, now.sink):
            yield messages.OTHER_SINK(sink=now.sink, before=self.sink)
        if _differ(self.zone, now.zone):
            yield messages.OTHER_ZONE(now=now.zone, before=self.zone)
        for what, before, after in (
            ("window", self.window_s, now.window_s),
            ("slide", self.slide_s, now.slide_s),
            ("watermark", self.watermark_s, now.watermark_s),
        ):
            if before != after:
                yield messages.OTHER_DURATION(what=what, now=_duration(after), before=_duration(before))
        if self.shuffle_partitions != now.shuffle_partitions:
            yield messages.OTHER_SHUFFLE_PARTITIONS(now=now.shuffle_partitions, before=self.shuffle_partitions)

    def source_differences(self, now: Baseline) -> Iterator[Reason]:
        """The same offsets are other records now."""
        if list(self.topics) != list(now.topics):
            yield messages.READS_OTHER_TOPIC(topic=", ".join(now.topics), before=", ".join(self.topics))
        elif _differ(self.cluster_id, now.cluster_id):
            yield messages.OTHER_CLUSTER(topic=", ".join(now.topics), now=now.cluster_id, before=self.cluster_id)
        else:
            yield from (messages.TOPIC_RECREATED(topic=topic) for topic, id in now.topics.items() if self.topics[topic] != id)

    def changes(self, now: Baseline) -> Iterator[Reason]:
        """What is not as it was at the last start, and may be changed: it is said."""
        if _differ(self.future_tolerance, now.future_tolerance):
            yield messages.OTHER_TOLERANCE(now=now.future_tolerance, before=self.future_tolerance)
        if added := sorted(set(now.skip) - set(self.skip)):
            yield messages.SKIPS_MORE(records=added)
        if removed := sorted(set(self.skip) - set(now.skip)):
            yield messages.SKIPS_LESS(records=removed)
        if self.codes and now.codes.keys() - self.codes.keys():
            yield messages.CODE_CHANGED(batch=max(now.codes.values()))


def from_format_1(fields: dict[str, Any]) -> dict[str, Any]:
    unknown = dict.fromkeys(("query_id", "cluster_id", "sink", "table_id", "zone", "future_tolerance"))
    return from_format_2({**unknown, "skip": [], **fields})


def from_format_2(fields: dict[str, Any]) -> dict[str, Any]:
    """A pipeline read one topic, and no window slid."""
    kept = {name: value for name, value in fields.items() if name not in ("source_topic", "topic_id")}
    return {**kept, "topics": {fields["source_topic"]: fields["topic_id"]}, "slide_s": None}


def _differ(before: str | None, now: str | None) -> bool:
    """What is not known cannot be compared."""
    return before is not None and now is not None and before != now


def _duration(duration_s: float | None) -> str:
    return "none" if duration_s is None else format_duration(duration_s)
