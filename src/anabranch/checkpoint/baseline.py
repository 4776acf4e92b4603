"""What a checkpoint was made with, kept beside it and compared at every start: Spark itself would not notice.

A topic that was deleted and recreated under the same name gives no error, other records are read: its id tells
(docs/internals/hazards.md, O). Another window, delay or number of shuffle partitions on old state gives wrong results.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anabranch.checkpoint import messages
from anabranch.errors import Reason
from anabranch.storage.files import Format
from anabranch.storage.location import CheckpointLocation
from anabranch.text.format import format_duration


@dataclass(frozen=True)
class Baseline:
    source_topic: str
    topic_id: str
    window_s: float | None
    watermark_s: float | None
    shuffle_partitions: str
    # Each code fingerprint that has run on it -> the batch that it began with.
    codes: Mapping[str, int]

    def differences(self, now: Baseline) -> Iterator[Reason]:
        """What is not as it was at the first start."""
        if self.source_topic != now.source_topic:
            yield messages.READS_OTHER_TOPIC(topic=now.source_topic, before=self.source_topic)
        elif self.topic_id != now.topic_id:
            yield messages.TOPIC_RECREATED(topic=now.source_topic)
        for what, before, after in (
            ("window", self.window_s, now.window_s),
            ("watermark", self.watermark_s, now.watermark_s),
        ):
            if before != after:
                yield messages.OTHER_DURATION(what=what, now=_duration(after), before=_duration(before))
        if self.shuffle_partitions != now.shuffle_partitions:
            yield messages.OTHER_SHUFFLE_PARTITIONS(now=now.shuffle_partitions, before=self.shuffle_partitions)


def _duration(duration_s: float | None) -> str:
    return "none" if duration_s is None else format_duration(duration_s)


BASELINE = Format("baseline", 1, Baseline)


def read_baseline(location: CheckpointLocation) -> Baseline | None:
    """None: the checkpoint is not of one of our pipelines. A file that cannot be understood is refused."""
    return BASELINE.read(location.baseline)


def write_baseline(location: CheckpointLocation, baseline: Baseline) -> None:
    BASELINE.write(location.baseline, baseline)
