"""What a checkpoint was made with, kept beside it and compared at every start: Spark itself would not notice.

A topic that was deleted and made again under the same name gives no error, other records are read (hazard O): its id tells.
Another window, delay or number of shuffle partitions on old state gives wrong results.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from anabranch.storage.files import read_json, write_whole


@dataclass(frozen=True)
class Baseline:
    source_topic: str
    topic_id: str
    window_s: float | None
    watermark_s: float | None
    shuffle_partitions: str
    # Each code that has run on it (operate/code.py) -> the batch that it began with.
    codes: Mapping[str, int] = field(default_factory=dict)

    def differences(self, now: Baseline) -> Iterator[str]:
        """In words, what is not as it was at the first start."""
        if self.source_topic != now.source_topic:
            yield f"it reads {now.source_topic}, the checkpoint is of {self.source_topic}"
        elif self.topic_id != now.topic_id:
            yield f"{now.source_topic} was deleted and made again: other records are under the same name"
        for what, before, after in (
            ("window", self.window_s, now.window_s),
            ("watermark", self.watermark_s, now.watermark_s),
        ):
            if before != after:
                yield f"the {what} is {after:g} s, the checkpoint's state was made with {before:g} s"
        if self.shuffle_partitions != now.shuffle_partitions:
            yield (
                f"spark.sql.shuffle.partitions is {now.shuffle_partitions},"
                f" the checkpoint's state lies in {self.shuffle_partitions}"
            )


def baseline_path(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.facts.json")


def read_baseline(checkpoint: Path) -> Baseline | None:
    found = read_json(baseline_path(checkpoint))
    try:
        return Baseline(**found) if found else None
    except TypeError:
        return None


def write_baseline(checkpoint: Path, facts: Baseline) -> None:
    write_whole(baseline_path(checkpoint), json.dumps(asdict(facts)))
