"""Drawn streams on real Spark and Kafka: the audit agrees with the oracle in every window, and says the same twice.

What the oracle is told comes from outside: the records as they were sent, the checkpoint's offset log as its JSON has it, the
results as they are on the topic.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, read_records
from anabranch.spark.session import Session
from tests.audit.oracle import Cell, LateRow, Oracle, Told, Truth
from tests.support import in_process
from tests.support.harness import Project
from tests.support.kafka_fixtures import create_topic

pytestmark = [pytest.mark.kafka, pytest.mark.in_process]

BEGIN = datetime(2025, 9, 4, 7, tzinfo=UTC)
MINUTE_MS = 60_000
# A pipeline of one's own, whose windows overlap. TOPIC is drawn.
SLIDING = """
import anabranch as ab

visits = ab.topic(
    "TOPIC", schema="visit_id STRING, event_time TIMESTAMP NOT NULL", event_time="event_time", lake="lake/visits"
)


@ab.pipeline(visits, window=("10m", "5m"), watermark="10m", key=("window",), to=ab.results("TOPIC-counts"))
def sliding(visits):
    return visits.groupBy("window").count()
"""


@dataclass
class Drawn:
    """A project of its own on topics of its own, and a diary of what was sent."""

    project: Project
    kafka: Mapping[str, str]
    topic: str
    pipeline: str
    lake: str
    slide_ms: int
    chance: Random
    declared: str = ""
    sent: list[tuple[int, int, int | None, bool]] = field(default_factory=list)
    # What the lake had when an operation was planned: operation, partition, end.
    known: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.admin, self.producer = KafkaAdmin(self.kafka), GroupProducer(self.kafka, self.topic)

    def do(self, *command: str) -> None:
        assert self.project.session is not None
        done = in_process.call(self.project.session, self.project.directory, command, {})
        assert done.returncode in (0, 4), f"{command}: {done.stdout}\n{done.stderr}"

    def send(self, number: int) -> None:
        """Visits out of order by more than the delay, some twice, some with a problem, one from a clock that is ahead."""
        for partition in (0, 1):
            group: list[tuple[bytes, int | None, bool]] = []
            for place in range(14):
                late_s = self.chance.randint(0, 2400) if self.chance.random() < 0.35 else 0
                group.extend(self._record((number * 14 + place) * 90 - late_s))
            ranges = self.producer.send([(None, value) for value, _, _ in group], partition)
            first = ranges[partition].earliest
            self.sent.extend((partition, first + place, time, good) for place, (_, time, good) in enumerate(group))

    def _record(self, after_s: int) -> list[tuple[bytes, int | None, bool]]:
        kind = self.chance.choices(["good", "twice", "bad", "of a wrong type", "future", "ahead"], [70, 8, 7, 7, 5, 3])[0]
        moment = BEGIN + timedelta(seconds=after_s + (1500 if kind == "ahead" else 0))
        if kind == "future":
            moment = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=5)
        visit: dict[str, object] = {"visit_id": {} if kind == "of a wrong type" else "a", "event_time": moment.isoformat()}
        value = b"no visit" if kind == "bad" else json.dumps(visit).encode()
        time = None if kind == "bad" else round(moment.timestamp() * 1000)
        return [(value, time, kind in ("good", "twice", "ahead"))] * (2 if kind == "twice" else 1)

    def run(self, *, fills_lake: bool) -> None:
        """In batches of another size each time. The lake takes all at once."""
        reads, sends = (
            f'topics = {{ source = "{self.topic}" }}',
            f'topics = {{ source = "{self.topic}", sink = "{self.topic}-counts" }}',
        )
        self.project.configure(
            f"""
            {self.declared}
            [kafka]
            bootstrap_servers = "{self.kafka["bootstrap.servers"]}"
            [pipeline.{self.lake}]
            {"" if self.declared else reads}
            [pipeline.{self.pipeline}]
            {"" if self.declared else sends}
            max_offsets = {self.chance.randint(8, 15)}
            """
        )
        self.do("run", *([self.lake] if fills_lake else []), self.pipeline, "--until-caught-up")

    def happen(self, what: str) -> None:
        match what:
            case "replay" | "replan":
                batch = str(self.chance.randint(1, max(1, max(self._batches()) - 1)))
                self.do("rewind", self.pipeline, "--to-batch", batch, "--yes", *(["--replan"] if what == "replan" else []))
            case "crash":
                # As a kill between the results and the commit leaves it.
                newest = max(self._batches())
                for name in (f"{newest}", f".{newest}.crc"):
                    (self._checkpoint / "commits" / name).unlink()
            case "reprocess":
                end = datetime.fromtimestamp(self._batches()[max(self._batches())][0] / 1000, UTC)
                begin = end - timedelta(minutes=self.chance.choice([25, 60]))
                end -= timedelta(minutes=15)
                self.do("reprocess", self.pipeline, "--from", begin.isoformat(), "--to", end.isoformat(), "--yes")
            case "repair":
                self.do("repair", self.pipeline, "--yes")
        seen = {operation for operation, _, _ in self.known}
        for operation in {one.header("anabranch-operation") for one in self._results()} - {None} - seen:
            self.known.extend((str(operation), partition, end) for partition, end in self._ends().items())

    def _ends(self) -> dict[int, int]:
        return {partition: max(offset for p, offset, _, _ in self.sent if p == partition) + 1 for partition in (0, 1)}

    def _results(self) -> list[Any]:
        return list(read_records(self.admin, f"{self.topic}-counts"))

    @property
    def _checkpoint(self) -> Path:
        (found,) = (self.project.directory / ".anabranch" / "checkpoints" / self.pipeline).glob("*/offsets")
        return found.parent

    def _batches(self) -> dict[int, tuple[int, dict[int, int]]]:
        """Batch -> its watermark, and up to where it read each partition, by the offset log; of those committed."""
        found = {}
        for path in (self._checkpoint / "commits").glob("[0-9]*"):
            _, about, ends = (self._checkpoint / "offsets" / path.name).read_text(encoding="utf-8").split("\n")
            reached = {int(partition): end for partition, end in json.loads(ends)[self.topic].items()}
            found[int(path.name)] = (json.loads(about)["batchWatermarkMs"], reached)
        return dict(sorted(found.items()))

    def told(self) -> Told:
        batches, begins = self._batches(), dict.fromkeys((0, 1), 0)
        reads: list[tuple[int, int, int, int]] = []
        assert list(batches) == list(range(len(batches)))
        for batch, (_, ends) in batches.items():
            reads.extend((batch, partition, begins[partition], end) for partition, end in ends.items())
            begins = ends
        results = [
            (place, _start_ms(one.key_text), json.loads(one.value_text)["count"], one.header("anabranch-operation"))
            for place, one in enumerate(self._results())
        ]
        return Told(
            10 * MINUTE_MS,
            self.slide_ms,
            10 * MINUTE_MS,
            ledger=self.sent,
            runs=[(batch, batch, watermark_ms, True, False) for batch, (watermark_ms, _) in batches.items()],
            reads=reads,
            lake=[(partition, 0, end) for partition, end in self._ends().items()],
            known=self.known,
            found=results,
        )


def _start_ms(key: str) -> int:
    return _ms(json.loads(key)["window_start"])


def _ms(moment: str) -> int:
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def _draw(session: Session, kafka: Mapping[str, str], directory: Path, seed: int, *, slides: bool) -> Drawn:
    topic, project = create_topic(KafkaAdmin(kafka), 2), Project(directory, session)
    if slides:
        # Python imports a module once.
        file = f"streams_{uuid4().hex[:8]}.py"
        (directory / file).write_text(SLIDING.replace("TOPIC", topic), encoding="utf-8")
        return Drawn(project, kafka, topic, "sliding", f"{topic}-lake", 5 * MINUTE_MS, Random(seed), f'pipelines = ["{file}"]')
    return Drawn(project, kafka, topic, "visits-counter", "visits-lake", 10 * MINUTE_MS, Random(seed))


def check(found: dict[str, Any], truth: Truth) -> None:
    assert {_ms(one["window"]["start"]): _cell(one) for one in found["windows"]} == truth.windows
    balance = {"in_lake": truth.in_lake, "counted": truth.counted, "late": len(truth.late), "problems": truth.problems}
    assert found["balance"] == {**balance, "remainder": 0}
    assert [_late(one) for one in (found["late"] or {"records": []})["records"]] == truth.late
    verdict = found["verdict"]
    assert (verdict["open"], verdict["unknown"], verdict["not_counted"]) == (truth.open, 0, truth.not_counted)


def _cell(one: dict[str, Any]) -> Cell:
    emitted, should_be = (None if one[name] is None else json.loads(one[name])["count"] for name in ("emitted", "should_be"))
    return Cell(
        one["in_lake"], one["problems"], one["counted"], one["late"], emitted, should_be, one["operation"], one["class"]
    )


def _late(one: dict[str, Any]) -> LateRow:
    return LateRow(
        one["partition"],
        one["offset"],
        _ms(one["event_time"]),
        _ms(one["window_end"]),
        one["batch"],
        one["was_read"],
        _ms(one["watermark"]),
        one["late_by_ms"],
    )


# What happens between the two runs, and behind the second; how many audits are made then.
HISTORIES: tuple[tuple[tuple[str, ...], tuple[str, ...], int], ...] = (
    ((), (), 2),
    (("replay",), (), 1),
    (("replan",), ("repair",), 1),
    (("crash",), ("reprocess",), 1),
    (("repair",), (), 2),
    (("reprocess",), ("repair",), 1),
    (("repair", "replan"), (), 1),
    (("reprocess", "replay"), (), 1),
    (("crash", "repair"), (), 1),
    (("replan", "crash"), (), 1),
)


@pytest.mark.parametrize("seed", range(len(HISTORIES)))
def test_an_audit_of_a_real_stream_says_of_every_window_what_the_oracle_says(
    seed: int, session: Session, kafka: dict[str, str], tmp_path: Path
) -> None:
    between, behind, audits = HISTORIES[seed]
    drawn = _draw(session, kafka, tmp_path, seed, slides=seed % 3 == 1)
    for number, happenings in enumerate((between, behind)):
        drawn.send(number)
        # Until an operation or the audit needs it, the lake may wait: what the two runs cost is mostly the lake's.
        drawn.run(fills_lake=number == 1 or not {"reprocess", "repair"}.isdisjoint(between))
        for what in happenings:
            drawn.happen(what)
    truth = Oracle().ask(drawn.told())
    said = {drawn.project("audit", drawn.pipeline, "--all", "--json").stdout for _ in range(audits)}
    (text,) = said
    check(json.loads(text), truth)
    assert len(truth.windows) > 3
