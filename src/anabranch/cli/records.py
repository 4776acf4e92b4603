"""anabranch produce and consume: lines to a topic, and back."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from select import select
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import cli_of, write_line
from anabranch.cli.topics import topics_of
from anabranch.errors import Misused
from anabranch.text.escape import escaped_json

if TYPE_CHECKING:
    from anabranch.kafka.records import Received

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
    """Send lines to a topic; lines that are read together are sent together. Empty lines are passed over.

    Example: echo '{"visit_id": 1, "event_time": "2025-09-04T07:00:00"}' | anabranch produce visits
    """
    from anabranch.kafka.records import GroupProducer

    cli = cli_of(context)
    topics = topics_of(cli)
    partitions = topics.find(topic).partitions
    if partition is not None and partition >= partitions:
        raise Misused(f"{topic} has the partitions 0 to {partitions - 1}, no {partition}.")
    if partition is None and key is None:
        # One partition for all of it, as Kafka's own console producer does: the lines stay in order.
        partition = random.randrange(partitions)
    producer = GroupProducer(topics.properties, topic)
    sent = 0
    if not files and sys.stdin.isatty():
        cli.say(f"Lines for {topic}; Ctrl-D ends.")
    for lines in _groups(files or []):
        producer.send([(_key_of(line, key, sent + i + 1, sent), line) for i, line in enumerate(lines)], partition)
        sent += len(lines)
    cli.say(f"{sent:,} record{'' if sent == 1 else 's'} acknowledged by {topics.address}.")


def _groups(files: list[Path]) -> Iterator[list[bytes]]:
    if not files:
        yield from lines_of(sys.stdin.fileno())
    for file in files:
        try:
            descriptor = os.open(file, os.O_RDONLY)
        except OSError as error:
            raise Misused(f"{file} cannot be read: {error.strerror}.") from None
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
        raise Misused(f"line {number} has no field {field!r}; {sent} records were sent before its group.") from None
    return (value if isinstance(value, str) else json.dumps(value)).encode()


def consume(
    context: typer.Context,
    topic: str,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Key, headers, partition, offset and timestamp too.")] = False,
) -> None:
    """Print a topic's values, from the beginning to the end.

    Example: anabranch consume visits_counter --json
    """
    from anabranch.kafka.records import read_records

    # Into a file the values go as they are; on a screen they must not act.
    on_screen = sys.stdout.isatty()
    for received in read_records(topics_of(cli_of(context)), topic, follow=follow):
        if as_json:
            sys.stdout.write(escaped_json(_as_json(received)) + "\n")
        elif on_screen:
            write_line(_text(received.value) or "")
        else:
            sys.stdout.buffer.write((received.value or b"") + b"\n")
        if follow:
            sys.stdout.flush()


def _as_json(received: Received) -> dict[str, object]:
    return {
        "topic": received.topic,
        "partition": received.partition,
        "offset": received.offset,
        "timestamp": received.timestamp_ms,
        "key": _text(received.key),
        "value": _text(received.value),
        "headers": {name: _text(value) for name, value in received.headers},
    }


def _text(raw: bytes | None) -> str | None:
    return None if raw is None else raw.decode("utf-8", errors="backslashreplace")
