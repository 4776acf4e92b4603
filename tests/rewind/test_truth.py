"""A stream that was rewound ends as one that never was: each kind of pipeline and provider of state, both ways, two restarts.

All streams of this file run in one Spark session, in three rounds: the visits, the rewound ones again, then more
visits for all. Late data would be judged by other watermarks if batches were cut differently, so none is late.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from anabranch.checkpoint.reader import read_checkpoint
from anabranch.checkpoint.state_reader import state_rows
from anabranch.cli.main import run_command
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import latest_by_key, read_records
from anabranch.pipeline.sinks import Results, Table
from anabranch.rewind.plan import Mode, judge
from anabranch.storage.local import LocalStorage
from tests.support.streams import PROVIDERS, Stream, run_all, stream

pytestmark = pytest.mark.kafka

# Each provider of state that Spark allows a kind of state; each other pipeline with ours. The lake has no state.
_MODES: tuple[Mode, ...] = ("replay", "replan")
CASES = [
    *(("visits-counter", provider) for provider in PROVIDERS),
    ("browsers-stateful", "changelog"),
    *(("visits-sessions", provider) for provider in PROVIDERS if provider != "hdfs"),
    ("visits-lake", "changelog"),
]
OFFSETS_A_BATCH = 50


@dataclass(frozen=True)
class Trio:
    """One that goes straight on, for the others to begin as its copies, and one for each way of rewinding."""

    straight: Stream
    rewound: dict[Mode, Stream]

    @property
    def all(self) -> list[Stream]:
        return [self.straight, *self.rewound.values()]


@pytest.fixture(scope="module")
def trios(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin
) -> Iterator[dict[tuple[str, str], Trio]]:
    directory = tmp_path_factory.mktemp("truth")
    source = f"visits-{uuid4().hex[:12]}"
    topics.create(source, 2)
    sources = "".join(f'[pipeline.{name}]\ntopics = {{ source = "{source}" }}\n' for name in {name for name, _ in CASES})
    toml = f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n{sources}'
    (directory / "anabranch.toml").write_text(toml, encoding="utf-8")
    found = {case: _trio(directory, spark, kafka, topics, *case) for case in CASES}
    try:
        _visits(directory, source, seed=1, count=150, start="2025-09-04T07:00:00Z")
        # Stateless, or with absolute paths in its state, a checkpoint is run, not copied.
        first = [one for trio in found.values() for one in (trio.all if _is_run(trio) else [trio.straight])]
        run_all(first, OFFSETS_A_BATCH)
        chance = random.Random(20250904)
        for trio in found.values():
            for mode, rewound in trio.rewound.items():
                if not _is_run(trio):
                    trio.straight.copy_to(rewound, topics)
                _rewind(rewound, mode, chance)
        rewound_ones = [one for trio in found.values() for one in trio.rewound.values()]
        run_all(rewound_ones, OFFSETS_A_BATCH)
        # Later visits of the same browsers; and a second restart, where stale state would be loaded.
        _visits(directory, source, seed=2, count=50, start="2025-09-04T09:30:00Z")
        never = [_never_rewound(found, name) for name in {name for name, _ in CASES}]
        run_all([*never, *rewound_ones], OFFSETS_A_BATCH)
        yield found
    finally:
        for trio in found.values():
            for one in trio.all:
                if isinstance(one.pipeline.sink, Results):
                    topics.delete(one.sink)


def _trio(directory: Path, spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin, name: str, provider: str) -> Trio:
    def one(role: str) -> Stream:
        if name == "visits-lake":
            return stream(directory, spark, kafka, name, Table(f"lake-{role}"), provider)
        sink = Results(f"visits-{name}-{provider}-{role}-{uuid4().hex[:6]}")
        topics.create(sink.name, 2)
        return stream(directory, spark, kafka, name, sink, provider)

    return Trio(one("straight"), {mode: one(mode) for mode in _MODES})


def _never_rewound(trios: dict[tuple[str, str], Trio], name: str) -> Stream:
    """One for all providers: a provider keeps state in its own way, and the state is the same."""
    return trios[name, "changelog"].straight


def _is_run(trio: Trio) -> bool:
    return trio.straight.pipeline.name in ("visits-lake", "visits-sessions")


def _visits(directory: Path, topic: str, *, seed: int, count: int, start: str) -> None:
    clock = ["--start", start, "--spacing", "40s"]
    options = ["--seed", str(seed), "--count", str(count), *clock, "--visitors", "20", "--bad", "5%"]
    assert run_command(["-q", "-C", str(directory), "generate", topic, *options]) == 0


def _rewind(rewound: Stream, mode: Mode, chance: random.Random) -> None:
    """To any batch that is possible and takes at least two back."""
    checkpoint = read_checkpoint(LocalStorage(rewound.checkpoint))
    within = [batch for batch in checkpoint.batches[:-2] if judge(checkpoint, batch, mode).possible]
    options = ["--replan"] if mode == "replan" else []
    assert rewound.anabranch("rewind", "--to-batch", str(chance.choice(within)), *options, "--yes") == 0


@pytest.mark.parametrize(("name", "provider", "mode"), [(*case, mode) for case in CASES for mode in _MODES])
def test_rewound_and_restarted_twice_it_ends_as_if_it_never_was(
    name: str, provider: str, mode: Mode, trios: dict[tuple[str, str], Trio], topics: KafkaAdmin
) -> None:
    straight, rewound = _never_rewound(trios, name), trios[name, provider].rewound[mode]
    if name == "visits-lake":
        assert _table(rewound) == _table(straight)
        assert len(_table(straight)) == 200
        return
    expected = _latest(topics, straight.sink)
    assert _latest(topics, rewound.sink) == expected
    assert len(expected) > 5
    assert _state(rewound) == _state(straight)
    assert read_checkpoint(LocalStorage(rewound.checkpoint)).operators


def _latest(topics: KafkaAdmin, topic: str) -> dict[str, str]:
    latest = latest_by_key(read_records(topics, topic))
    return {key: record.value_text for key, record in latest.items()}


def _table(one: Stream) -> list[dict[str, object]]:
    rows = DeltaTable(one.sink).to_pyarrow_table().to_pylist()
    return sorted(rows, key=lambda row: (row["partition"], row["offset"]))


def _state(one: Stream) -> list[str]:
    """Every key and value of the state after the last batch; of sessions the timers as well."""

    def read(**options: str) -> DataFrame:
        return one.spark.read.format("statestore").options(**options).load(str(one.checkpoint))

    if one.pipeline.name != "visits-sessions":
        return sorted(str(row.asDict(True)) for row in read().select("partition_id", "key", "value").collect())
    # Not chunk by chunk: other batches make other chunks of the same visits.
    newest = read_checkpoint(LocalStorage(one.checkpoint)).commits.newest
    assert newest is not None
    visits = state_rows(one.spark, str(one.checkpoint), one.pipeline.loaded.unpack_state, newest, log_file="")
    timers = read(readRegisteredTimers="true").select("key", "expiration_timestamp_ms").collect()
    return sorted([str(row) for row in visits] + [str(row) for row in timers])
