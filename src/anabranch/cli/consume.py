"""anabranch consume: a topic's values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import cli_of, write_line
from anabranch.cli.topics import connect
from anabranch.text.format import escaped_json

if TYPE_CHECKING:
    from anabranch.project.project import Received


def consume(
    context: typer.Context,
    topic: str,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue with new records.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Key, headers, partition, offset and timestamp too.")] = False,
) -> None:
    """Print a topic's values, from the beginning to the end.

    Example: anabranch consume visits_counter --json
    """
    from anabranch.project.project import read_topic

    # Into a file the values go as they are; on a terminal control characters are escaped.
    on_screen = sys.stdout.isatty()
    for received in read_topic(connect(cli_of(context)), topic, follow=follow):
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
