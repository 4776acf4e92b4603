"""anabranch consume: a topic's values."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import messages
from anabranch.cli.output import check_reader, cli_of, write_json_line, write_value
from anabranch.cli.topics import connect
from anabranch.text.format import parse_topic_name

if TYPE_CHECKING:
    from anabranch.project.kafka import Received


def consume(
    context: typer.Context,
    topic: str,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Continue with new records; wait for a topic that is not there yet.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Values as they are, also on a terminal, where control characters are escaped.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Key, headers, partition, offset and timestamp too.")] = False,
) -> None:
    """Print a topic's values, from the beginning to the end.

    Example: anabranch consume visits_counter --json
    """
    from anabranch.project.kafka import follow_topic, read_topic

    if raw and as_json:
        raise messages.RAW_AND_JSON()
    cli = cli_of(context)
    admin = connect(cli)
    # Into a file or a program the values go as they are.
    raw = raw or not sys.stdout.isatty()
    for received in follow_topic(admin, parse_topic_name(topic), cli.tell) if follow else read_topic(admin, topic):
        if received is None:
            check_reader()
        elif as_json:
            write_json_line(_as_json(received))
        else:
            write_value(received.value, raw=raw)
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
