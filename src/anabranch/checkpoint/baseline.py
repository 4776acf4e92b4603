"""What a checkpoint was made with, beside it: written at the first start of its query and compared at every other one.

Spark itself would not notice: a topic that was deleted and recreated gives no error, other records are read
(docs/internals/hazards.md, O); another window, delay, time zone or number of shuffle partitions on old state gives wrong
results; a second sink on the same checkpoint gets nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anabranch
from anabranch.checkpoint import messages
from anabranch.errors import Reason
from anabranch.storage.files import CheckpointLocation, Format
from anabranch.text.format import format_duration

# The code on every record's way to a result, beside the transformation itself.
_SHARED_CODE = ("streaming/decoder/*.py", "streaming/transforms.py", "streaming/results.py", "pipeline/builtin/session_*.py")


@dataclass(frozen=True)
class Baseline:
    """None, where nothing else is said: not known, 0.2.0 did not write it down."""

    # The id in `metadata`. None also: no query has started on it yet.
    query_id: str | None
    # Of the Kafka that it reads.
    cluster_id: str | None
    source_topic: str
    topic_id: str
    # As `--to` names it, its path as seen from the project.
    sink: str | None
    # Of the Delta table that it writes to. None also: it writes to none, or has not yet.
    table_id: str | None
    # In which times without a zone are.
    zone: str | None
    # None: it has no such thing.
    window_s: float | None
    watermark_s: float | None
    shuffle_partitions: str
    # A duration, or "none".
    future_tolerance: str | None
    # Records that a setting leaves out: TOPIC:PARTITION:OFFSET.
    skip: tuple[str, ...]
    # Each code fingerprint that has run on it -> the batch that it began with.
    codes: Mapping[str, int]

    def differences(self, now: Baseline) -> Iterator[Reason]:
        """What is not as it was at the first start, and would make results wrong: a start is refused."""
        if _differ(self.sink, now.sink):
            yield messages.OTHER_SINK(sink=now.sink, before=self.sink)
        yield from self._source_differences(now)
        if _differ(self.zone, now.zone):
            yield messages.OTHER_ZONE(now=now.zone, before=self.zone)
        for what, before, after in (
            ("window", self.window_s, now.window_s),
            ("watermark", self.watermark_s, now.watermark_s),
        ):
            if before != after:
                yield messages.OTHER_DURATION(what=what, now=_duration(after), before=_duration(before))
        if self.shuffle_partitions != now.shuffle_partitions:
            yield messages.OTHER_SHUFFLE_PARTITIONS(now=now.shuffle_partitions, before=self.shuffle_partitions)

    def _source_differences(self, now: Baseline) -> Iterator[Reason]:
        if self.source_topic != now.source_topic:
            yield messages.READS_OTHER_TOPIC(topic=now.source_topic, before=self.source_topic)
        elif _differ(self.cluster_id, now.cluster_id):
            yield messages.OTHER_CLUSTER(topic=now.source_topic, now=now.cluster_id, before=self.cluster_id)
        elif self.topic_id != now.topic_id:
            yield messages.TOPIC_RECREATED(topic=now.source_topic)

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


def _from_1(fields: dict[str, Any]) -> dict[str, Any]:
    unknown = dict.fromkeys(("query_id", "cluster_id", "sink", "table_id", "zone", "future_tolerance"))
    return {**unknown, "skip": [], **fields}


BASELINE = Format("baseline", 2, Baseline, {1: _from_1})


def read_baseline(location: CheckpointLocation) -> Baseline | None:
    """None: the checkpoint is not of one of our pipelines. A file that cannot be understood is refused."""
    return BASELINE.read(location.baseline)


def write_baseline(location: CheckpointLocation, baseline: Baseline) -> None:
    BASELINE.write(location.baseline, baseline)


def complete_baseline(location: CheckpointLocation, **known: Any) -> None:
    """Adds what is known only once the query runs: its id, and the table that it has created."""
    baseline = read_baseline(location)
    if baseline is not None and (completed := replace(baseline, **known)) != baseline:
        write_baseline(location, completed)


def code_fingerprint(transform: Callable[..., Any]) -> str:
    """Which code computes a pipeline's results: a short hash of its sources, to be compared over upgrades."""
    root = Path(anabranch.__file__).parent
    shared = (file for pattern in _SHARED_CODE for file in sorted(root.glob(pattern)))
    digest = hashlib.sha256()
    for file in (Path(transform.__code__.co_filename), *shared):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def _differ(before: str | None, now: str | None) -> bool:
    """What is not known cannot be compared."""
    return before is not None and now is not None and before != now


def _duration(duration_s: float | None) -> str:
    return "none" if duration_s is None else format_duration(duration_s)
