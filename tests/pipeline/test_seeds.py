"""The seeds, followed step by step through the real commands: the same batches, tables and JSON as their texts show."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest
from deltalake import DeltaTable

from anabranch.kafka.admin import KafkaAdmin
from tests.support.harness import PATIENCE_S, Project, Running

pytestmark = pytest.mark.kafka


@pytest.fixture
def seed(make_project: Callable[[str], Project], topics: KafkaAdmin, kafka: dict[str, str]) -> Iterator[Project]:
    """An empty directory, and topics that are as new as it."""
    project = make_project("seed")
    project.configure(f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"')
    yield project
    project.end()
    for topic in topics.all():
        if not topic.name.startswith("visits-"):  # those are of other tests
            topics.delete(topic.name)


def _send(project: Project, lines: str) -> None:
    """To one partition, as the console producer of the texts does."""
    project.ok("produce", "visits", "--partition", "0", text=lines)


def _batch(running: Running, number: int) -> list[str]:
    """The lines of a batch's table, without rules and head."""
    running.await_line(f"^Batch: {number}$")
    for _ in range(3):
        running.await_line(r"^\+-")
    text = "\n".join(running.out).split(f"Batch: {number}\n")[-1]
    rows = [line for line in text.split("Batch:")[0].splitlines() if line.startswith("|")]
    return sorted(re.sub(r"\s*\|\s*", "|", row).strip("|") for row in rows[1:])


def _window(start: str, end: str, count: int) -> str:
    return f"{{2025-09-04 {start}:00, 2025-09-04 {end}:00}}|{count}"


def test_windows_are_counted_and_corrected_batch_by_batch_as_in_seed_001(seed: Project) -> None:
    seed.ok("topics", "create", "visits", "--partitions", "2")
    running = seed.start("run", "visits-windows")
    assert _batch(running, 0) == []

    _send(seed, _visits("07:00", "07:01", "07:02"))
    assert _batch(running, 1) == [_window("07:00", "07:10", 3)]
    assert _batch(running, 2) == []

    _send(seed, _visits("07:00", "07:10", "07:20"))
    assert _batch(running, 3) == [_window("07:00", "07:10", 4), _window("07:10", "07:20", 1), _window("07:20", "07:30", 1)]
    assert _batch(running, 4) == []

    _send(seed, _visits("07:25", "07:35"))
    assert _batch(running, 5) == [_window("07:20", "07:30", 2), _window("07:30", "07:40", 1)]
    assert _batch(running, 6) == []
    refused = seed("rewind", "visits-windows", "--to-batch", "5", "--yes")
    assert (refused.returncode, "refused[pipeline-runs]" in refused.stderr) == (3, True)
    seed.ok("stop", "visits-windows")
    assert running.await_end() == 0

    # Steps 7 to 9.
    plan = json.loads(seed.ok("rewind", "visits-windows", "--to-batch", "5", "--yes", "--json"))
    sink = plan["change"]["sink"]
    assert (sink["action"], sink["effect"]["code"]) == ("leave", "console-prints-again")
    again = seed.start("run", "visits-windows")
    assert _batch(again, 5) == [_window("07:20", "07:30", 2), _window("07:30", "07:40", 1)]
    assert _batch(again, 6) == []
    seed.ok("stop", "visits-windows")
    assert again.await_end() == 0


def _visits(*times: str) -> str:
    return "".join(f'{{"event_id": "click", "visit_id": 1, "event_time": "2025-09-04T{time}:00.000000"}}\n' for time in times)


def _counted(start: str, end: str, count: int) -> str:
    """In Paris, as the text has it; UTC, the default, is in tests/reprocess/test_command.py."""
    return f'{{"window":{{"start":"2025-09-04T{start}:00.000+02:00","end":"2025-09-04T{end}:00.000+02:00"}},"count":{count}}}'


def test_closed_windows_reach_the_topic_and_every_record_the_lake_as_in_seed_002(seed: Project, kafka: dict[str, str]) -> None:
    seed.configure(f'timezone = "Europe/Paris"\n[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"')
    seed.ok("topics", "create", "visits", "--partitions", "1")
    running = seed.start("run", "visits-lake", "visits-counter")
    lake = seed.directory / ".anabranch" / "lake" / "visits"
    running.await_line("visits-counter: running")
    counts = _following(seed, running, "visits_counter")

    _send(seed, _visits("07:00", "07:01", "07:02"))
    _await_caught_up(seed)
    assert _versions(lake) == [0, 1]
    _send(seed, _visits("07:33", "07:34", "07:35"))
    assert counts.await_line("window") == _counted("07:00", "07:10", 3)
    _send(seed, _visits("08:06", "08:07", "08:08"))
    assert counts.await_line("window") == _counted("07:30", "07:40", 3)
    _send(seed, _visits("07:03", "07:04"))
    _await_caught_up(seed)
    assert _versions(lake) == [0, 1, 2, 3, 4]
    _reprocess_beside_the_stream(seed, running, counts)
    seed.ok("stop", "visits-lake", "visits-counter")
    assert running.await_end() == 0
    plan = json.loads(seed.ok("rewind", "visits-counter", "--to-batch", "0", "--dry-run", "--json"))
    effect = plan["change"]["sink"]["effect"]
    assert (effect["code"], effect["params"]["topic"]) == ("topic-emits-again", "visits_counter")
    assert [(one["code"], one["params"]["keys"]) for one in effect["params"]["about"]] == [
        ("topic-keys", 2),
        ("topic-overwrites-corrected", 1),
    ]

    # The two late ones are in the lake, and in no window of the stream.
    records = [json.loads(line) for line in seed.ok("consume", "visits_counter", "--json").splitlines()]
    assert [record["value"] for record in records if record["headers"]["anabranch-origin"] == "stream"] == [
        _counted("07:00", "07:10", 3),
        _counted("07:30", "07:40", 3),
    ]
    table = DeltaTable(lake)
    assert table.metadata().partition_columns == ["year", "month", "day", "hour"]
    rows = table.to_pyarrow_table().to_pylist()
    assert sorted(row["offset"] for row in rows) == list(range(13))
    assert {(row["year"], row["month"], row["day"]) for row in rows} == {(2025, 9, 4)}
    assert {row["hour"] for row in rows} == {5, 6}
    assert {row["problem"] for row in rows} == {None}

    assert records[0]["key"] == '{"window_start":"2025-09-04T05:00:00.000Z"}'
    assert records[0]["headers"]["anabranch-pipeline"] == "visits-counter"
    assert records[0]["headers"]["anabranch-origin"] == "stream"
    assert int(records[0]["headers"]["anabranch-batch"]) > 0


def _reprocess_beside_the_stream(seed: Project, running: Running, counts: Running) -> None:
    # Exactly on the end of the range: it is of the next window, and must not touch it.
    _send(seed, _visits("07:10"))
    _await_caught_up(seed)
    window = ("--from", "2025-09-04T07:00", "--to", "2025-09-04T07:10")
    reprocessing = seed.start("reprocess", "visits-counter", *window, "--yes")
    reprocessing.await_line("Recomputing 1 window")
    # Batches continue meanwhile: of another window, so the plan does not become stale.
    _send(seed, _visits("08:05"))
    _await_caught_up(seed)
    assert reprocessing.await_end() == 0, reprocessing.err
    assert "    2025-09-04T05:00:00.000Z  3 -> 5" in reprocessing.out
    assert counts.await_line("window") == _counted("07:00", "07:10", 5)

    (operation,) = json.loads(seed.ok("operations", "--json"))
    (change,) = operation["plan"]["changes"]
    assert (change["before"], change["after"]) == (_counted("07:00", "07:10", 3), _counted("07:00", "07:10", 5))
    assert (operation["receipt"]["planned"], operation["receipt"]["acknowledged"]) == (1, 1)
    corrected = json.loads(seed.ok("consume", "visits_counter", "--json").splitlines()[-1])
    assert corrected["headers"] == {
        "anabranch-pipeline": "visits-counter",
        "anabranch-origin": "reprocess",
        "anabranch-operation": operation["id"],
    }

    # The stream was not touched: both pipelines still run, on the batches they had.
    assert running.process.poll() is None
    not_closed = seed("reprocess", "visits-counter", "--from", "2025-09-04T08:00", "--to", "2025-09-04T08:10", "--yes")
    assert (not_closed.returncode, "refused[windows-open]" in not_closed.stderr) == (3, True)
    assert "2025-09-04T05:58:00Z" in not_closed.stderr


def _await_caught_up(project: Project) -> None:
    """Every pipeline that runs has committed all that is in its topic, as `status` says."""
    deadline_s = monotonic() + PATIENCE_S
    while True:
        pipelines = [one for one in json.loads(project.ok("status", "--json"))["pipelines"] if one["running"]]
        if all(one["lag"] is not None and not any(any(lags.values()) for lags in one["lag"].values()) for one in pipelines):
            return
        assert monotonic() < deadline_s, pipelines


def _following(project: Project, running: Running, topic: str) -> Running:
    running.await_line(f"created topic {topic}|lag 0")
    return project.start("consume", topic, "--follow")


def _versions(lake: Path) -> list[int]:
    return sorted(int(path.stem) for path in (lake / "_delta_log").glob("*.json"))


def test_pages_of_each_visit_come_early_and_once_more_when_it_is_over_as_in_seed_003(seed: Project) -> None:
    seed.ok("topics", "create", "visits", "--partitions", "1")
    _send(seed, _visit(1, "2025-09-04T07:00:00.000000"))
    running = seed.start("run", "visits-sessions")
    assert _batch(running, 0) == ["1|1|false"]
    assert _batch(running, 1) == []
    _send(seed, _visit(1, "2025-09-04T07:01:00.000000"))
    assert _batch(running, 2) == ["1|2|false"]
    assert _batch(running, 3) == []
    _send(seed, _visit(1, "2025-09-04T07:02:00.000000"))
    assert _batch(running, 4) == ["1|3|false"]
    assert _batch(running, 5) == []
    _send(seed, _visit(1, "2025-09-04T07:00:00.000000"))
    assert _batch(running, 6) == ["1|4|false"]
    _send(seed, _visit(2, "2025-09-04T07:10:00.000000"))
    assert _batch(running, 7) == ["2|1|false"]
    assert _batch(running, 8) == []
    _send(seed, _visit(1, "2026-12-29T07:49:15.189575"))
    assert _batch(running, 9) == ["1|5|false"]
    assert _batch(running, 10) == ["1|5|true", "2|1|true"]

    # The original never cleared its state; here a visit that comes back starts at 1.
    _send(seed, _visit(2, "2026-12-29T07:50:00.000000"))
    assert _batch(running, 11) == ["2|1|false"]
    seed.ok("stop", "visits-sessions")
    assert running.await_end() == 0
    state = json.loads(seed.ok("checkpoint", "visits-sessions", "--state", "--batch", "8", "--json"))
    visits = sorted((row["visit_id"], row["visited_pages"]) for row in state["rows"])
    assert (state["batch"], visits, state["more"]) == (8, [("1", 4), ("2", 1)], False)


def _visit(visit_id: int, time: str) -> str:
    return f'{{"event_id": "click", "visit_id": {visit_id}, "event_time": "{time}"}}\n'


def test_browsers_are_counted_within_a_batch_and_over_all_batches_as_in_seed_004(seed: Project) -> None:
    seed.ok("topics", "create", "visits", "--partitions", "1")
    running = seed.start("run", "browsers-stateless", "browsers-stateful", "--trigger", "500ms")
    running.await_line("browsers-stateful: running")
    stateless = _following(seed, running, "browser-stats-stateless")
    stateful = _following(seed, running, "browser-stats-stateful")

    _send(seed, _browsers(("10:00", "Firefox"), ("10:01", "Chrome"), ("10:02", "Safari")))
    first = sorted([_stats("Firefox", "10:00", "10:05", 1, "10:00"), _stats("Chrome", "10:00", "10:05", 1, "10:01")])
    first = sorted([*first, _stats("Safari", "10:00", "10:05", 1, "10:02")])
    assert sorted(stateless.await_line("Firefox|Chrome|Safari") for _ in range(3)) == first
    assert sorted(stateful.await_line("Firefox|Chrome|Safari") for _ in range(3)) == first

    _send(seed, _browsers(("10:00", "Firefox"), ("10:03", "Firefox")))
    assert stateless.await_line("Firefox") == _stats("Firefox", "10:00", "10:05", 2, "10:03")
    assert stateful.await_line("Firefox") == _stats("Firefox", "10:00", "10:05", 3, "10:03")

    # Older than the watermark of 09:43, yet its window ends after it.
    _send(seed, _browsers(("09:40", "Firefox")))
    assert stateful.await_line("Firefox") == _stats("Firefox", "09:40", "09:45", 1, "09:40")
    _send(seed, _browsers(("09:30", "Firefox")))
    assert stateless.await_line("09:30") == _stats("Firefox", "09:30", "09:35", 1, "09:30")
    _send(seed, _browsers(("10:30", "Firefox")))
    assert stateful.await_line("Firefox") == _stats("Firefox", "10:30", "10:35", 1, "10:30")
    # The batch behind the one that read 10:30 has the new watermark: only then is 10:00 late.
    running.await_line("browsers-stateful: running .*watermark 2024-10-06T10:10:00")
    _send(seed, _browsers(("10:00", "Firefox")))
    running.await_line(r"browsers-stateful: running .*9 rows .*lag 0")
    seed.ok("stop", "browsers-stateless", "browsers-stateful")
    assert running.await_end() == 0

    # 09:30 and the last 10:00 were behind the watermark: nothing came of them.
    values = [json.loads(line) for line in seed.ok("consume", "browser-stats-stateful").splitlines()]
    assert len(values) == 6
    assert [value["count"] for value in values if value["window"]["start"].startswith("2024-10-06T09:30")] == []
    keys = [json.loads(line)["key"] for line in seed.ok("consume", "browser-stats-stateful", "--json").splitlines()]
    assert '{"window_start":"2024-10-06T10:30:00.000Z","browser":"Firefox"}' in keys


def _browsers(*events: tuple[str, str]) -> str:
    return "".join(
        f'{{"userId": 1, "page": "index.html", "eventTime": "2024-10-06T{time}:00Z", "browser": "{browser}"}}\n'
        for time, browser in events
    )


def _stats(browser: str, start: str, end: str, count: int, last: str) -> str:
    day = "2024-10-06T"
    return (
        f'{{"browser":"{browser}","window":{{"start":"{day}{start}:00.000Z","end":"{day}{end}:00.000Z"}},'
        f'"count":{count},"last_event_time_in_window":"{day}{last}:00.000Z"}}'
    )
