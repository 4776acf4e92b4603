"""A look at the history of 1,000,000 batches, beside one of 100: the real commands, each in a process of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import accumulate, islice
from statistics import median
from time import time

from anabranch.checkpoint.history import EMPTY, BatchRecord, NewestEvent, append_entries, entry_after
from anabranch.project.project import Project, open_project
from anabranch.spark.session import SETTINGS
from anabranch.streaming.preflight import run_fingerprint
from anabranch.text.format import iso_utc
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.commands import cost_of
from benchmarks.history import write_file

_PIPELINE, _TRIGGER_MS, _ROWS = "visits-counter", 15_000, 100
_FEW, _MANY = 100, 1_000_000
_RETAINED = int(SETTINGS["spark.sql.streaming.minBatchesToRetain"])
_LINES_AT_ONCE = 1000
# The first may still find modules and names on the disk.
_LOOKS, _COLD_LOOKS = 7, 2
_COMMANDS = {"status": ("status",), "history": ("history", _PIPELINE, "--last", "10m")}
# `status` also finds why it cannot start: the topic is no longer the one that was read.
_CODES = (0, 4)


def _figures(place: Place, batches: int) -> Figures:
    project = _project(place, batches)
    figures = {}
    for name, command in _COMMANDS.items():
        looks = [cost_of(project.directory, *command, codes=_CODES).duration_ms for _ in range(_LOOKS)]
        figures[f"{name} of {_MANY:,} batches"] = median(looks[_COLD_LOOKS:])
    return figures


def _project(place: Place, batches: int) -> Project:
    """Made by the first run that needs it. Its newest batch has just ended."""
    directory = place.shared / f"history-{batches}"
    if not directory.exists():
        place.say(f"writing a history of {batches:,} batches")
        (directory / ".anabranch").mkdir(parents=True)
        kafka = f'[kafka]\nbootstrap_servers = "{place.kafka["bootstrap.servers"]}"\n'
        (directory / "anabranch.toml").write_text(kafka, encoding="utf-8")
        project = open_project(directory)
        begin_ms = round(time() * 1000) - batches * _TRIGGER_MS
        _write_logs(project, batches, begin_ms)
        _write_lines(project, batches, begin_ms)
    return open_project(directory)


def _write_logs(project: Project, batches: int, begin_ms: int) -> None:
    """As many as Spark retains."""
    (pipeline,) = project.find_declared([_PIPELINE])
    path = project.checkpoint(pipeline).path
    for log in ("offsets", "commits"):
        (path / log).mkdir(parents=True)
    write_file(path / "metadata", json.dumps({"id": "2d01b0bc-d1c6-4e4b-b0cf-21b6155f3c1a"}).encode())
    for batch in range(max(0, batches - _RETAINED), batches):
        at_ms = begin_ms + batch * _TRIGGER_MS
        head = {"batchWatermarkMs": at_ms, "batchTimestampMs": at_ms, "conf": {}}
        ends = {pipeline.topic.name: {"0": _ROWS * (batch + 1)}}
        write_file(path / "offsets" / str(batch), f"v1\n{json.dumps(head)}\n{json.dumps(ends)}".encode())
        write_file(path / "commits" / str(batch), f'v1\n{{"nextBatchWatermarkMs":{at_ms}}}'.encode())


def _write_lines(project: Project, batches: int, begin_ms: int) -> None:
    (pipeline,) = project.find_declared([_PIPELINE])
    location, code = project.checkpoint(pipeline), run_fingerprint(pipeline, "UTC")
    entries = accumulate(_records(pipeline.topic.name, batches, begin_ms, code), entry_after, initial=EMPTY)
    next(entries)
    while some := list(islice(entries, _LINES_AT_ONCE)):
        append_entries(location, some)


def _records(topic: str, batches: int, begin_ms: int, code: str) -> Iterator[BatchRecord]:
    """With all that a real one has."""
    phases = {
        "addBatch": 80,
        "commitOffsets": 10,
        "latestOffset": 2,
        "queryPlanning": 15,
        "triggerExecution": 120,
        "walCommit": 9,
    }
    for batch in range(batches):
        at, first = iso_utc(begin_ms + batch * _TRIGGER_MS), batch * _ROWS
        newest, ranges = NewestEvent(at, topic, 0, first + _ROWS - 1), {topic: {0: (first, first + _ROWS)}}
        figures = (_ROWS, 1, 0, True, 833.3, 120, at, newest)
        yield BatchRecord(batch, at, *figures, ranges, at, at, phases, 144, code)


CASE = Case(
    name="history",
    summary=f"a look at a stream of {_MANY:,} batches; plain: of {_FEW}",
    unit="ms",
    ours=lambda place: _figures(place, _MANY),
    plain=lambda place: _figures(place, _FEW),
    goals={f"{name} of {_MANY:,} batches": Goal(at_most=1.1) for name in _COMMANDS},
    rounds=1,
)
