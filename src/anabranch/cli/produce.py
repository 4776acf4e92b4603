"""anabranch produce: lines to a topic."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from select import select
from typing import Annotated

import typer

from anabranch.cli import messages
from anabranch.cli.output import cli_of
from anabranch.cli.topics import connect

# A file of any size arrives in parts of this.
_READ_BYTES = 1 << 20
# A terminal gives one line at a time, also of a pasted text. Lines that follow within this time belong together: long enough
# to press Enter behind a pasted text that ends without one, shorter than it takes to type a line.
_PASTE_PAUSE_S = 0.5


def produce(
    context: typer.Context,
    topic: str,
    files: Annotated[list[Path] | None, typer.Argument(help="Files of lines; without any, standard input.")] = None,
    key: Annotated[str | None, typer.Option(metavar="FIELD", help="The field of each JSON line that is its key.")] = None,
    partition: Annotated[int | None, typer.Option(min=0, help="Send to this partition.")] = None,
) -> None:
    """Send lines to a topic; lines that are read together are sent together. Empty lines are skipped.

    Example: echo '{"visit_id": 1, "event_time": "2025-09-04T07:00:00"}' | anabranch produce visits
    """
    from anabranch.project.project import producer_for

    cli = cli_of(context)
    admin = connect(cli)
    partitions = admin.find(topic).partitions
    if partition is not None and partition >= partitions:
        raise messages.NO_SUCH_PARTITION(topic=topic, last=partitions - 1, partition=partition)
    if partition is None and key is None:
        # One partition for all of it, as Kafka's own console producer does: the lines stay in order.
        partition = random.randrange(partitions)
    producer = producer_for(admin, topic)
    sent = 0
    if not files and sys.stdin.isatty():
        cli.say(f"Lines for {topic}; Ctrl-D ends.")
    for lines in _groups(files or []):
        producer.send([(_key_of(line, key, sent + i + 1, sent), line) for i, line in enumerate(lines)], partition)
        sent += len(lines)
    cli.say(f"{sent:,} record{'' if sent == 1 else 's'} acknowledged by {admin.address}.")


def _groups(files: list[Path]) -> Iterator[list[bytes]]:
    if not files:
        yield from lines_of(sys.stdin.fileno())
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError as error:
            raise messages.INPUT_UNREADABLE(file=str(file), reason=error.strerror) from None
        try:
            yield from lines_of(descriptor)
        finally:
            os.close(descriptor)


def lines_of(descriptor: int) -> Iterator[list[bytes]]:
    """Lines that arrived together. A line that is cut by a read waits for its rest."""
    rest = b""
    for chunk in _pasted(descriptor) if os.isatty(descriptor) else _read(descriptor):
        *lines, rest = (rest + chunk).split(b"\n")
        if whole := _not_empty(lines):
            yield whole
    if last := _not_empty([rest]):
        yield last


def _read(descriptor: int) -> Iterator[bytes]:
    while chunk := os.read(descriptor, _READ_BYTES):
        yield chunk


def _pasted(terminal: int) -> Iterator[bytes]:
    """Reads of a terminal that followed each other, as one."""
    reads = _read(terminal)
    for chunk in reads:
        while select([terminal], [], [], _PASTE_PAUSE_S)[0]:
            more = next(reads, None)
            if more is None:  # Ctrl-D, which a terminal tells only once
                yield chunk
                return
            chunk += more
        yield chunk


def _not_empty(lines: list[bytes]) -> list[bytes]:
    return [stripped for line in lines if (stripped := line.rstrip(b"\r")).strip()]


def _key_of(line: bytes, field: str | None, number: int, sent: int) -> bytes | None:
    if field is None:
        return None
    try:
        value = json.loads(line)[field]
    except (ValueError, KeyError, TypeError):
        raise messages.NO_KEY_FIELD(line=number, field=field, sent=sent) from None
    return (value if isinstance(value, str) else json.dumps(value)).encode()
