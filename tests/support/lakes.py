"""Lakes of visits-lake that tests rewind: made once, copied for each test, counted by offset."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from deltalake import DeltaTable

from anabranch.cli.main import run_command
from anabranch.kafka.admin import KafkaAdmin
from anabranch.pipeline.sinks import Table
from tests.support.streams import Stream, stream

VISITS, A_BATCH = 60, 10


@dataclass(frozen=True)
class MadeLake:
    """A lake of 60 visits, written in 6 batches. Each test has a copy of its own: making one takes ten seconds."""

    original: Stream

    def copy(self, directory: Path) -> Stream:
        shutil.copytree(self.original.directory, directory, dirs_exist_ok=True)
        return stream(directory, self.original.spark, self.original.kafka, "visits-lake", Table("lake"))


def send(lake: Stream, count: int) -> None:
    lines = "".join(f'{{"visit_id": {n}, "event_time": "2025-09-04T07:{n % 60:02}:00Z"}}\n' for n in range(count // 2))
    for partition in ("0", "1"):
        path = lake.directory / f"visits-{partition}.jsonl"
        path.write_text(lines, encoding="utf-8")
        command = ["produce", lake.pipeline.topic.name, str(path), "--partition", partition]
        assert run_command(["-q", "-C", str(lake.directory), *command]) == 0


def offsets(lake: Stream) -> list[int]:
    """Of partition 0, then of partition 1, each in order; other writers' rows are left out."""
    table = DeltaTable(lake.sink).to_pyarrow_table(columns=["topic", "partition", "offset"]).to_pylist()
    rows = sorted((row["partition"], row["offset"]) for row in table if row["topic"] == lake.pipeline.topic.name)
    return [offset for _, offset in rows]


def once(lake: Stream, topics: KafkaAdmin) -> list[int]:
    """Every record that the topic has."""
    reach = topics.offset_ranges(lake.pipeline.topic.name)
    return [offset for partition in sorted(reach) for offset in range(reach[partition].end)]
