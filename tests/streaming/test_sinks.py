"""Kinds of sinks: a kind is a value and a policy. A new one, defined here, needs no change anywhere else."""

from __future__ import annotations

import json
import posixpath
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from anabranch.cli.main import run_command
from anabranch.errors import Catalogue, Misused, Refused, note
from anabranch.kafka.records import GroupProducer
from anabranch.operations.change import SinkChange
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Out, Sink
from anabranch.project.project import open_project
from anabranch.storage.files import read_text, remove, write_whole
from anabranch.streaming.sinks import policy_for, policy_of
from anabranch.streaming.sinks.base import (
    POLICIES,
    BatchWriter,
    QueryRun,
    RewoundBatches,
    SinkPolicy,
    leave,
    register,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.support.streams import Stream


@dataclass(frozen=True)
class JsonLines(Sink):
    """Results are lines of a file, each with the id of its batch."""

    kind = "jsonl"
    target = "PATH"
    appends_only = True
    path: str

    @classmethod
    def parse(cls, target: str, pipeline: Pipeline) -> Sink:
        del pipeline
        return cls(target)

    def describe(self) -> str:
        return f"jsonl:{self.path}"

    def placed(self, directory: str) -> Sink:
        return JsonLines(posixpath.join(directory, self.path))

    def directory_name(self, directory: str) -> str:
        return "jsonl-" + posixpath.relpath(self.path, directory).replace("/", "-")


LINES_SET_ASIDE = note("lines-set-aside", "file {path}: {lines:#line} are moved to a file beside it")
LINES_RESTORED = note("lines-restored", "file {path}: {lines:#line} are restored")
NO_LINES = note("no-lines", "file {path}: it has no line of these batches")


class JsonLinesPolicy(SinkPolicy):
    """Each batch replaces its own lines, so a batch that runs again is there once. Every step may be repeated."""

    kind = "jsonl"

    def batch_writer(self, run: QueryRun, out: Out) -> BatchWriter:
        del out
        path = _path(run.pipeline)

        def write(batch: DataFrame, batch_id: int) -> None:
            results = [{"batch": batch_id, **json.loads(row[0])} for row in batch.selectExpr("to_json(struct(*))").collect()]
            _write(path, [*(line for line in _read(path) if line["batch"] != batch_id), *results])

        return write

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        path = _path(rewound.pipeline)
        about = {"path": str(path), "lines": sum(line["batch"] >= rewound.batch for line in _read(path))}
        if not about["lines"]:
            return leave(self.kind, NO_LINES(path=str(path)))
        params = {"path": str(path), "aside": f"{path}.{rewound.operation}", "batch": rewound.batch}
        return SinkChange(self.kind, "take back", LINES_SET_ASIDE(**about), LINES_RESTORED(**about), params)

    def take_back(self, params: Mapping[str, Any]) -> None:
        path, lines = Path(params["path"]), _read(Path(params["path"]))
        if taken := [line for line in lines if line["batch"] >= params["batch"]]:
            _write(Path(params["aside"]), taken)
            _write(path, [line for line in lines if line["batch"] < params["batch"]])

    def put_back(self, params: Mapping[str, Any]) -> None:
        path, aside = Path(params["path"]), Path(params["aside"])
        if taken := _read(aside):
            _write(path, [*(line for line in _read(path) if line["batch"] < params["batch"]), *taken])
            remove(aside)


def _path(pipeline: Pipeline) -> Path:
    assert isinstance(pipeline.sink, JsonLines)
    return Path(pipeline.sink.path)


def _read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (read_text(path) or "").splitlines()]


def _write(path: Path, lines: list[dict[str, Any]]) -> None:
    write_whole(path, "".join(f"{json.dumps(line)}\n" for line in lines))


# Known only while a test asks for it: others compare what there is with the docs.
MESSAGES = [LINES_SET_ASIDE, LINES_RESTORED, NO_LINES]
del Sink.kinds["jsonl"]
for _message in MESSAGES:
    del Catalogue.messages[_message.code]


@pytest.fixture
def policy(monkeypatch: pytest.MonkeyPatch) -> Iterator[JsonLinesPolicy]:
    """The new kind, registered as a file in streaming/sinks registers its own."""
    monkeypatch.setitem(Sink.kinds, "jsonl", JsonLines)
    for message in MESSAGES:
        monkeypatch.setitem(Catalogue.messages, message.code, message)
    policy = JsonLinesPolicy()
    register(policy)
    yield policy
    del POLICIES["jsonl"]


def test_every_kind_of_sink_has_a_policy_and_every_policy_a_kind() -> None:
    assert {kind: policy.kind for kind, policy in POLICIES.items()} == {kind: kind for kind in Sink.kinds}
    assert set(POLICIES) == {"console", "topic", "table"}


@pytest.mark.usefixtures("policy")
def test_a_new_kind_is_named_by_to_and_has_a_checkpoint_of_its_own(tmp_path: Path) -> None:
    project = open_project(tmp_path)
    sent = project.sent_to(VISITS_LOG, "jsonl:out/visits.jsonl")
    assert sent.sink == JsonLines(str(project.directory / "out" / "visits.jsonl"))
    assert isinstance(policy_of(sent.sink), JsonLinesPolicy)
    assert project.sent_to(VISITS_LOG, sent.sink.describe()) == sent
    assert project.checkpoint(sent).path.name == "jsonl-out-visits.jsonl"
    with pytest.raises(Misused) as rejected:
        VISITS_SESSIONS.sent_to("jsonl:visits.jsonl")
    assert (rejected.value.code, rejected.value.reason.params["kind"]) == ("sink-appends-only", "jsonl")


def test_a_kind_that_is_not_known_is_rejected_and_a_plan_with_it_refused() -> None:
    with pytest.raises(Misused) as rejected:
        VISITS_LOG.sent_to("jsonl:visits.jsonl")
    assert rejected.value.code == "unknown-sink"
    left = leave("jsonl", NO_LINES(path="x"))
    assert policy_for(left, "a plan") is None
    assert left.opposite.action == "leave"
    with pytest.raises(Refused) as refused:
        policy_for(replace(left, action="take back"), "a plan")
    assert (refused.value.code, refused.value.reason.params["path"]) == ("format-newer", "a plan")


def test_what_is_taken_back_is_put_back_however_often_each_is_done(policy: JsonLinesPolicy, tmp_path: Path) -> None:
    path = tmp_path / "visits.jsonl"
    params: dict[str, Any] = {"path": str(path), "aside": f"{path}.a-rewind", "batch": 2}
    lines = [{"batch": number // 3, "visit_id": str(number)} for number in range(12)]
    _write(path, lines)
    # Also where nothing was taken back yet: an operation may be rolled back before its sink was touched.
    policy.put_back(params)
    assert _read(path) == lines
    for _ in range(2):
        policy.take_back(params)
        assert (_read(path), _read(Path(params["aside"]))) == (lines[:6], lines[6:])
    for _ in range(2):
        policy.put_back(params)
        assert (_read(path), [one.name for one in tmp_path.iterdir()]) == (lines, ["visits.jsonl"])


VISITS, A_BATCH = 40, 10


@pytest.fixture
def visits(policy: JsonLinesPolicy, tmp_path: Path, spark: SparkSession, kafka: dict[str, str], topic: str) -> Stream:
    """visits-log as `--to jsonl:visits.jsonl` sends it, after 4 batches of 10 visits."""
    from tests.support.streams import Stream

    toml = f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n[pipeline.visits-log]\ntopics.source = "{topic}"\n'
    (tmp_path / "anabranch.toml").write_text(toml, encoding="utf-8")
    events = [json.dumps({"visit_id": n, "event_time": "2025-09-04T07:00:00Z"}).encode() for n in range(VISITS)]
    for partition in (0, 1):
        GroupProducer(kafka, topic).send([(None, event) for event in events[partition::2]], partition)
    project = open_project(tmp_path)
    one = Stream(tmp_path, spark.newSession(), kafka, project.sent_to(project.pipeline(VISITS_LOG), "jsonl:visits.jsonl"))
    one.run(A_BATCH)
    assert policy_of(one.pipeline.sink) is policy
    assert _batches(one) == {0: 10, 1: 10, 2: 10, 3: 10}
    return one


def _batches(visits: Stream) -> Counter[int]:
    return Counter(line["batch"] for line in _read(_path(visits.pipeline)))


def _visit_ids(visits: Stream) -> list[int]:
    return sorted(int(line["visit_id"]) for line in _read(_path(visits.pipeline)))


@pytest.mark.kafka
def test_a_rewind_takes_the_lines_back_and_the_next_run_writes_every_record_once(visits: Stream) -> None:
    assert visits.anabranch("rewind", "--to-batch", "2", "--yes") == 0
    assert _batches(visits) == {0: 10, 1: 10}
    # In other batches than before: batch 2 has the same range, the rest is one.
    visits.run(1000)
    assert _visit_ids(visits) == list(range(VISITS))
    assert _batches(visits) == {0: 10, 1: 10, 2: 10, 3: 10}
    assert visits.anabranch("rewind", "--to-batch", "1", "--replan", "--yes") == 0
    visits.run(1000)
    assert _visit_ids(visits) == list(range(VISITS))
    assert _batches(visits) == {0: 10, 1: 30}


@pytest.mark.kafka
def test_an_undo_restores_the_lines(visits: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    path = _path(visits.pipeline)
    before = path.read_bytes()
    assert visits.anabranch("rewind", "--to-batch", "1", "--yes") == 0
    assert f"file {path}: 30 lines are moved to a file beside it" in capsys.readouterr().out
    (rewind,) = visits.project.operations.all()
    assert _batches(visits) == {0: 10}
    assert len(_read(Path(f"{path}.{rewind.id}"))) == 30
    assert run_command(["-C", str(visits.directory), "undo", rewind.id, "--yes"]) == 0
    assert path.read_bytes() == before
    # Nothing is left to do: the undone batches are committed again.
    visits.run(1000)
    assert path.read_bytes() == before
