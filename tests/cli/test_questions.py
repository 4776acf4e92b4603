"""What is typed before a question is shown does not answer it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.desk import FOREIGN
from tests.support.drawing import draw, write_tree
from tests.support.harness import Project


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The keyboard's end, on which a yes was typed ahead, and the program's."""
    keyboard, program = os.openpty()
    os.write(keyboard, b"y\n")
    yield keyboard, program
    os.close(keyboard)
    os.close(program)


def _answered(project: Project, terminal: tuple[int, int], answer: bytes, *command: str) -> tuple[int, str]:
    keyboard, program = terminal
    asked = project.start(*command, stdin=program)
    asked.await_line(r"\[y/N\]:")
    os.write(keyboard, answer)
    code = asked.await_end()
    return code, "\n".join(asked.err)


@pytest.mark.parametrize(("answer", "code", "states"), [(b"n\n", 3, []), (b"y\n", 0, ["done"])])
def test_a_rewind_waits_for_an_answer_to_the_plan_that_it_shows(
    project: Project, terminal: tuple[int, int], tmp_path: Path, answer: bytes, code: int, states: list[str]
) -> None:
    write_tree(draw(), tmp_path / "theirs")
    found, said = _answered(project, terminal, answer, "rewind", str(tmp_path / "theirs"), "--to-batch", "3", *FOREIGN)
    assert (found, "refused[declined]" in said) == (code, code == 3), said
    assert [one["state"] for one in json.loads(project.ok("operations", "--json"))] == states


@pytest.mark.kafka
def test_a_topic_is_not_deleted_by_what_was_typed_ahead(project: Project, terminal: tuple[int, int], topic: str) -> None:
    found, said = _answered(project, terminal, b"n\n", "topics", "delete", topic)
    assert (found, "refused[declined]" in said) == (3, True), said
    assert topic in project.ok("topics")
