"""A wait that lasts says what it waits for, for how long already, and where to look."""

from __future__ import annotations

import io
import re
from queue import Queue

import pytest
from rich.console import Console

from anabranch.cli import progress


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lasts for seconds elsewhere lasts for a moment here."""
    for name, duration_s in (("_LIVE_EVERY_S", 0.01), ("_LINE_EVERY_S", 0.01), ("_LASTS_S", 0.0)):
        monkeypatch.setattr(progress, name, duration_s)


class Lines(Queue[str]):
    def await_line(self, start: str) -> str:
        while not (line := self.get(timeout=60)).startswith(start):
            pass
        return line


def off_a_terminal() -> Console:
    return Console(file=io.StringIO())


def test_off_a_terminal_a_wait_is_a_line_and_again_one_while_it_lasts() -> None:
    lines = Lines()
    with progress.busy(off_a_terminal(), lines.put, "Starting Spark", "its log: run.log") as phase:
        assert lines.get() == "Starting Spark ..."
        phase("launching its JVM")
        said = lines.await_line("Starting Spark: launching")
        assert re.fullmatch(r"Starting Spark: launching its JVM, \d+ s so far, its log: run.log \.\.\.", said)
        phase("connecting to its JVM")
        lines.await_line("Starting Spark: connecting")


def test_what_is_over_at_once_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_LINE_EVERY_S", 60.0)
    lines = Lines()
    with progress.busy(off_a_terminal(), lines.put, "Starting Kafka", "") as phase:
        phase("launching its JVM")
    assert [lines.get() for _ in range(lines.qsize())] == ["Starting Kafka ..."]


def test_a_count_that_does_not_move_is_said_again_until_it_is_done() -> None:
    lines = Lines()
    with progress.counting(off_a_terminal(), lines.put, "Fetching jars", quiet=False) as count:
        count(1, 20)
        assert lines.get() == "Fetching jars: 1 of 20"
        assert re.fullmatch(r"Fetching jars: 1 of 20, \d+ s so far \.\.\.", lines.await_line("Fetching jars: 1 of 20,"))
        count(20, 20)
        lines.await_line("Fetching jars: 20 of 20")
    assert not [line for line in lines.queue if "so far" in line]


def test_on_a_terminal_the_live_line_names_the_phase_and_brackets_are_no_markup() -> None:
    shown = io.StringIO()
    terminal = Console(file=shown, force_terminal=True, width=200)
    with progress.busy(terminal, lambda _line: None, "Starting Spark", "its log: [a]/run.log") as phase:
        phase("launching [bold]its JVM")
    assert re.search(r"Starting Spark: launching \[bold\]its JVM, \d+ s so far, its log: \[a\]/run.log", shown.getvalue())


def test_a_terminal_that_cannot_go_back_in_its_line_is_told_in_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    lines = Lines()
    with progress.busy(Console(file=io.StringIO(), force_terminal=True), lines.put, "Starting Spark", "") as phase:
        phase("launching its JVM")
        lines.await_line("Starting Spark: launching")
