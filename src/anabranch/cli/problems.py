"""anabranch problems: records that could not be used, by reason. No JVM."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from anabranch.cli.lake import Topic
from anabranch.cli.output import AsJson, cli_of, write_json, write_line, write_table
from anabranch.text.format import escape_control_chars

_SHOWN_CHARACTERS = 120


def problems(
    context: typer.Context,
    topic: Topic = None,
    reason: Annotated[str | None, typer.Option(help="Only records with this problem.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many records to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Count the records with problems by reason, and show some of them.

    Example: anabranch problems --reason 'no event_time' --limit 5
    """
    from anabranch.project import lake

    cli = cli_of(context)
    counts, shown = lake.problems(cli.project(), topic, reason, limit)
    if as_json:
        records = [{**asdict(problem), "value": _text(problem.value)} for problem in shown]
        write_json({"counts": counts, "records": records})
        return
    if not counts:
        which = "a problem" if reason is None else f"the problem {reason!r}"
        cli.say(f"No record of the lake has {which}.")
        return
    write_table(("records", "problem"), [(f"{count:,}", name) for name, count in counts.items()])
    for problem in shown:
        where = f"{problem.topic} {problem.partition}:{problem.offset}"
        text = _text(problem.value)
        shown_text = "(null)" if text is None else escape_control_chars(text)[:_SHOWN_CHARACTERS]
        write_line(f"{where}  {problem.reason}  {shown_text}")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", errors="backslashreplace")
