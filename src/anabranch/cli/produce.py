"""anabranch produce: lines to a topic."""

from __future__ import annotations

import json
import random
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import messages
from anabranch.cli.lines import LONGEST_BYTES, TERMINAL_LINE_BYTES, Group, Line, check_files, is_utf16, read_groups
from anabranch.cli.output import Cli, cli_of
from anabranch.cli.topics import connect
from anabranch.errors import Failed, counted

if TYPE_CHECKING:
    from anabranch.checkpoint.layout import OffsetRange
    from anabranch.project.kafka import GroupProducer, KafkaAdmin

# Of files and pipes: what is acknowledged is said this often. A terminal is told after each group.
_SAY_EVERY_S = 5.0


def produce(
    context: typer.Context,
    topic: str,
    files: Annotated[
        list[Path] | None, typer.Argument(help="Files of lines; without any, standard input.", readable=False)
    ] = None,
    key: Annotated[str | None, typer.Option(metavar="FIELD", help="The field of each JSON line that is its key.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Send to this partition.")] = None,
) -> None:
    """Send lines to a topic; lines that are read together are sent together. Blank lines are left out and counted.

    Example: echo '{"visit_id": 1, "event_time": "2025-09-04T07:00:00"}' | anabranch produce visits
    """
    from anabranch.project.kafka import producer_for

    cli = cli_of(context)
    check_files(files or [])
    admin = connect(cli)
    partition = _partition(admin, topic, partition, key)
    typed = not files and sys.stdin.isatty()
    if typed:
        cli.say(f"Lines for {topic}; Ctrl-D ends.")
    sending = _Sending(cli, admin.address, topic, producer_for(admin, topic), key, partition, typed)
    try:
        with _Deferred(sending) as interrupt:
            for group in read_groups(files or [], max(LONGEST_BYTES, sending.producer.most_bytes)):
                sending.send(group)
                interrupt.check()
    finally:
        # Also after an error or Ctrl-C: what was acknowledged stays acknowledged.
        sending.report()


def _partition(admin: KafkaAdmin, topic: str, partition: int | None, key: str | None) -> int | None:
    partitions = admin.find(topic).partitions
    if partition is not None and partition >= partitions:
        raise messages.NO_SUCH_PARTITION(topic=topic, last=partitions - 1, partition=partition)
    if partition is None and key is None:
        # One partition for all of it, as Kafka's own console producer does: the lines stay in order.
        return random.randrange(partitions)
    return partition


@dataclass
class _Sending:
    cli: Cli
    address: str
    topic: str
    producer: GroupProducer
    key: str | None
    partition: int | None
    typed: bool
    acknowledged: int = 0
    blank: int = 0
    is_under_way: bool = False
    said_at_s: float = 0.0

    def send(self, group: Group) -> None:
        if group.had_mark:
            self.cli.say("The text begins with a byte-order mark, which is left out.")
        self.blank += group.blank
        if not group.lines:
            return
        records = [self._record(line) for line in group.lines]
        self.said_at_s = self.said_at_s or monotonic()
        self.is_under_way = True
        try:
            offsets = self.producer.send(records, self.partition)
        except Failed as error:
            self.acknowledged += error.reason.params["acknowledged"]
            raise
        finally:
            self.is_under_way = False
        self.acknowledged += len(records)
        if self.typed:
            self.cli.say(f"  {counted(len(records), 'record')} acknowledged: {_places(offsets)}; {self.acknowledged:,} so far.")
        elif monotonic() - self.said_at_s >= _SAY_EVERY_S:
            self.said_at_s = monotonic()
            self.cli.say(f"{counted(self.acknowledged, 'record')} acknowledged so far ...")

    def report(self) -> None:
        left_out = f"; {counted(self.blank, 'blank line')} left out" if self.blank else ""
        self.cli.say(f"{counted(self.acknowledged, 'record')} acknowledged by {self.address}{left_out}.")

    def _record(self, line: Line) -> tuple[bytes | None, bytes]:
        where = {"line": line.number, "file": line.file, "acknowledged": self.acknowledged}
        if line.number == 1 and is_utf16(line.text):
            raise messages.INPUT_NOT_UTF8(file=line.file, topic=self.topic)
        if self.typed and len(line.text) >= TERMINAL_LINE_BYTES:
            raise messages.LINE_CUT(**where, limit=TERMINAL_LINE_BYTES, topic=self.topic)
        key = self._key_of(line)
        size, limit = len(line.text) + len(key or b""), self.producer.most_bytes
        if size > limit:
            more_than = "more than " if size > LONGEST_BYTES else ""
            raise messages.LINE_TOO_LONG(**where, more_than=more_than, size=size, limit=limit)
        return key, line.text

    def _key_of(self, line: Line) -> bytes | None:
        if self.key is None:
            return None
        try:
            value = json.loads(line.text)[self.key]
            if value is None:
                raise KeyError
        except (ValueError, KeyError, TypeError, RecursionError):
            where = {"line": line.number, "file": line.file, "acknowledged": self.acknowledged}
            raise messages.NO_KEY_FIELD(**where, field=self.key) from None
        return (value if isinstance(value, str) else json.dumps(value)).encode()


class _Deferred:
    """Ctrl-C while a group is sent takes effect when it is acknowledged, so that the count is right; a second one at once."""

    def __init__(self, sending: _Sending) -> None:
        self._sending = sending
        self._asked = False

    def __enter__(self) -> _Deferred:
        signal.signal(signal.SIGINT, self._on_interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)

    def check(self) -> None:
        if self._asked:
            raise KeyboardInterrupt

    def _on_interrupt(self, number: int, _frame: object) -> None:
        del number
        if self._asked or not self._sending.is_under_way:
            raise KeyboardInterrupt
        self._asked = True


def _places(offsets: dict[int, OffsetRange]) -> str:
    return ", ".join(f"partition {p}, offset {_span(held)}" for p, held in sorted(offsets.items()))


def _span(held: OffsetRange) -> str:
    return f"{held.earliest:,}" if held.count == 1 else f"{held.earliest:,} to {held.end - 1:,}"
