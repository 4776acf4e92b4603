"""anabranch lake and problems: what lies in the lake. No JVM."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from anabranch.cli.output import cli_of, write_json, write_line, write_table
from anabranch.text.escape import escape_control_chars

app = typer.Typer(help="Rows, files and offsets of the lake.", invoke_without_command=True)
AsJson = Annotated[bool, typer.Option("--json")]
_SHOWN_CHARACTERS = 120


@app.callback()
def lake(context: typer.Context, as_json: AsJson = False) -> None:
    """Show path, rows, files, bytes, version, offsets per partition and newest record of the lake.

    Example: anabranch lake --json
    """
    if context.invoked_subcommand is not None:
        return
    from anabranch.delta.lake import inspect_lake

    state = inspect_lake(cli_of(context).project().lake)
    if as_json:
        write_json(asdict(state))
        return
    offsets = [
        f"{topic} {partition}: {first}..{end}"
        for topic, partitions in state.offsets.items()
        for partition, (first, end) in partitions.items()
    ]
    write_table(
        ("lake", state.path),
        [
            ("version", str(state.version)),
            ("rows", f"{state.rows:,}"),
            ("files", f"{state.files:,}"),
            ("bytes", f"{state.bytes:,}"),
            ("offsets", "  ".join(offsets)),
            ("newest record", state.newest_record or "-"),
            ("newest event", state.newest_event or "-"),
        ],
    )


@app.command()
def optimize(context: typer.Context) -> None:
    """Put small files together. The rows, and what a rewind needs, stay as they are.

    Example: anabranch lake optimize
    """
    from anabranch.delta.lake import compact_lake

    cli = cli_of(context)
    with cli.busy("Putting small files together"):
        before, after = compact_lake(cli.project().lake)
    cli.say(f"{before:,} files are now {after:,}.")


def problems(
    context: typer.Context,
    reason: Annotated[str | None, typer.Option(help="Only records with this problem.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many records to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Count the records with problems by reason, and show some of them.

    Example: anabranch problems --reason 'no event_time' --limit 5
    """
    from anabranch.delta.lake import problem_counts, read_problems

    cli = cli_of(context)
    path = cli.project().lake
    counts = problem_counts(path)
    if reason is not None:
        counts = {name: count for name, count in counts.items() if name == reason}
    shown = read_problems(path, reason, limit)
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
        write_line(f"{where}  {problem.reason}  {'(null)' if text is None else escape_control_chars(text)[:_SHOWN_CHARACTERS]}")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", errors="backslashreplace")
