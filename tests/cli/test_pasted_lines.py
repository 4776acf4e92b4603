"""What is pasted into a terminal together is sent together, though a terminal gives it line by line."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from anabranch.cli.lines import read_lines

CTRL_D = b"\x04"


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """The keyboard's end, and the program's."""
    keyboard, program = os.openpty()
    yield keyboard, program
    os.close(keyboard)
    os.close(program)


def texts(terminal: int) -> Iterator[list[bytes]]:
    return ([line.text for line in group.lines] for group in read_lines(terminal, "the terminal", 10_000))


def test_lines_that_are_pasted_together_stay_together(terminal: tuple[int, int]) -> None:
    keyboard, program = terminal
    groups = texts(program)
    os.write(keyboard, b"one\ntwo\n\nthree\n")
    assert next(groups) == [b"one", b"two", b"three"]
    os.write(keyboard, b"four\n")
    assert next(groups) == [b"four"]
    os.write(keyboard, CTRL_D)
    assert list(groups) == []


def test_ctrl_d_right_behind_a_pasted_text_ends_it(terminal: tuple[int, int]) -> None:
    keyboard, program = terminal
    os.write(keyboard, b"one\ntwo\n" + CTRL_D)
    assert list(texts(program)) == [[b"one", b"two"]]
