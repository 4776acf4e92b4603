"""`anabranch produce`, with lines as people have them: blank, too long, with an editor's mark, cut by a terminal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.support.harness import Project
from tests.support.terminal import anabranch

pytestmark = pytest.mark.kafka
CTRL_D = b"\x04"


def values(project: Project, topic: str) -> list[str]:
    return project.ok("consume", topic).splitlines()


def test_a_terminal_is_told_after_each_group_what_was_acknowledged_and_where(project: Project, topic: str) -> None:
    terminal = anabranch(project.directory, "produce", topic, "--partition", "1")
    terminal.await_text(b"Ctrl-D ends")
    terminal.type(b"one\ntwo\n\n")
    terminal.await_text(rb"2 records acknowledged: partition 1, offset 0 to 1; 2 so far\.")
    terminal.type(b"three\n")
    terminal.await_text(rb"1 record acknowledged: partition 1, offset 2; 3 so far\.")
    terminal.type(CTRL_D)
    assert terminal.await_end() == 0
    assert b"3 records acknowledged by " in terminal.shown
    assert b"; 1 blank line left out." in terminal.shown
    assert values(project, topic) == ["one", "two", "three"]


def test_ctrl_c_says_what_was_acknowledged(project: Project, topic: str) -> None:
    reader, writer = os.pipe()
    producing = project.start("produce", topic, "--partition", "0", stdin=reader)
    os.close(reader)
    os.write(writer, b"one\n")
    # In Kafka: the group has been sent.
    following = project.start("consume", topic, "--follow")
    following.await_line("^one$")
    os.killpg(producing.process.pid, signal.SIGINT)
    assert producing.await_end() == 130
    os.close(writer)
    assert [line for line in producing.err if "1 record acknowledged by " in line], producing.err


def test_a_line_that_a_terminal_has_cut_is_not_sent(project: Project, topic: str) -> None:
    """A terminal drops what is behind its limit; the record would be another one than was pasted."""
    terminal = anabranch(project.directory, "produce", topic)
    terminal.await_text(b"Ctrl-D ends")
    terminal.type(b"x" * 5000 + b"\n")
    assert terminal.await_end() == 2
    assert b"usage[line-cut]" in terminal.shown
    assert values(project, topic) == []


def test_blank_lines_are_left_out_and_counted(project: Project, topic: str) -> None:
    (project.directory / "lines").write_bytes(b"\na\r\n\r\n \t\nb")
    sent = project("produce", topic, "lines")
    assert "2 records acknowledged by " in sent.stderr
    assert "; 3 blank lines left out." in sent.stderr
    assert values(project, topic) == ["a", "b"]


def test_a_record_that_is_too_large_is_named_by_its_line_and_nothing_of_its_group_is_sent(project: Project, topic: str) -> None:
    (project.directory / "first").write_text("a\nb\n")
    (project.directory / "second").write_text("c\n" + "y" * 5_000_000 + "\nd\n")
    wrong = project("produce", topic, "first", "second")
    assert (wrong.returncode, "usage[line-too-long]" in wrong.stderr) == (2, True), wrong.stderr
    for part in ("line 2 of second", "5,000,000 bytes", "1,000,000", "[kafka.properties]"):
        assert part in wrong.stderr
    sent = values(project, topic)
    assert f"{len(sent)} records acknowledged by " in wrong.stderr
    assert sent[:2] == ["a", "b"]
    assert "d" not in sent


def test_a_record_that_the_broker_does_not_take_is_said_with_its_size(project: Project, topic: str) -> None:
    larger = {"ANABRANCH_KAFKA__PROPERTIES": '{"message.max.bytes": "10000000"}'}
    wrong = project("produce", topic, text="a\n" + "y" * 5_000_000 + "\n", **larger)
    assert (wrong.returncode, "error[record-too-large]" in wrong.stderr) == (1, True), wrong.stderr
    assert "5,000,000 bytes" in wrong.stderr
    assert f"{len(values(project, topic))} record" in wrong.stderr


def test_more_short_lines_than_the_clients_queue_holds_are_sent(project: Project, topic: str) -> None:
    """librdkafka queues 100,000 records; a part of a file of so short lines has more."""
    assert "300,000 records acknowledged" in project("produce", topic, text="x\n" * 300_000).stderr


def test_a_byte_order_mark_is_left_out_and_said_and_utf16_is_refused(project: Project, topic: str) -> None:
    sent = project("produce", topic, text=b'\xef\xbb\xbf{"a": 1}\n')
    assert (sent.returncode, "byte-order mark" in sent.stderr) == (0, True)
    assert values(project, topic) == ['{"a": 1}']
    wrong = project("produce", topic, text='{"a": 1}\n'.encode("utf-16"))
    assert (wrong.returncode, "usage[input-not-utf8]" in wrong.stderr) == (2, True), wrong.stderr
    assert len(values(project, topic)) == 1


def test_a_closed_stdin_is_not_taken_for_an_empty_one(project: Project, topic: str) -> None:
    done = subprocess.run(
        ["bash", "-c", f"exec {sys.executable} -m anabranch produce {topic} <&-"],
        cwd=project.directory,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, "usage[input-unreadable]" in done.stderr) == (2, True), done.stderr
