"""A process is told from a later one with its id, also when the clock is set in between."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from anabranch.storage.lease import mark_of


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux tells the tick of a process's birth")
def test_a_clock_that_was_set_does_not_make_a_process_look_gone() -> None:
    mark = mark_of()
    assert mark.birth is not None
    assert replace(mark, created_s=mark.created_s - 3600).is_alive()
    assert not replace(mark, birth=f"{mark.birth}0").is_alive()


def test_a_mark_without_a_birth_goes_by_the_clock() -> None:
    mark = replace(mark_of(), birth=None)
    assert mark.is_alive()
    assert not replace(mark, created_s=mark.created_s - 3600).is_alive()


def test_a_process_that_ended_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    mark = mark_of(child.pid)
    assert mark.is_alive()
    child.kill()
    child.communicate()
    assert mark.wait_gone(5.0)
    assert not mark.is_alive()
    assert mark_of(os.getpid()).pid == os.getpid()
