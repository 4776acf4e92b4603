"""anabranch checkpoint: shows any checkpoint of Structured Streaming. No Spark, no JVM; nothing is changed."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.output import FOUND, Cli, cli_of, write_json

if TYPE_CHECKING:
    from anabranch.checkpoint.checkpoint import Checkpoint
    from anabranch.project.project import CheckpointRef, Project

_MANY = 1000
Names = Annotated[list[str], typer.Argument(metavar="PIPELINE|PATH", help="A pipeline, or any checkpoint's directory.")]
To = Annotated[
    str | None, typer.Option(metavar="console|topic[:NAME]|table:PATH", help="The pipeline's checkpoint for this sink.")
]


def checkpoint(
    context: typer.Context,
    names: Names,
    every: Annotated[bool, typer.Option("--all", help="Every batch, not only the newest 20; every file is read.")] = False,
    batch: Annotated[int | None, typer.Option(metavar="N", min=0, help="One batch, in full.")] = None,
    state: Annotated[bool, typer.Option("--state", help="Keys and values of its state; starts Spark.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="With --state: so many rows.")] = 100,
    to: To = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it.")] = False,
) -> None:
    """Show a checkpoint: its batches, its state, what can be rewound to, and what is wrong with it.

    Example: anabranch checkpoint visits-counter --batch 7
    """
    from anabranch.checkpoint.findings import WHOLE, Finding, findings
    from anabranch.checkpoint.reader import check_batch, open_checkpoint
    from anabranch.checkpoint.report import Source
    from anabranch.checkpoint.report import as_json as report
    from anabranch.cli.checkpoint_view import shown_batches, write_batch, write_checkpoint
    from anabranch.project.project import resolve_checkpoint
    from anabranch.streaming.preflight import outlook_of

    cli = cli_of(context)
    project = cli.project_as_read()
    ref = resolve_checkpoint(project, cli.directory, names, to)
    found = open_checkpoint(ref.location)
    if state:
        _write_state(cli, project, ref, found, batch, limit, as_json)
        return
    if batch is not None:
        check_batch(found, batch)
    outlook = outlook_of(project, ref)
    source = Source(outlook.retained, outlook.blocked)
    # What a fence refuses is a finding already.
    also = [] if found.fence else [Finding(WHOLE, refused.reason) for refused in outlook.refusals]
    if as_json:
        # Every entry is read, and every batch judged: of 10,000 batches that takes seconds.
        is_long = batch is None and len(found.batches) > _MANY
        with cli.busy(f"Reading {len(found.batches):,} batches") if is_long else nullcontext():
            about = report(found, None if batch is None else [batch], source, also)
        write_json(_encodable(about))
        has_findings = bool(about["findings"])
    else:
        shown = [batch] if batch is not None else shown_batches(found, every)
        wrong = [*findings(found, None if every and batch is None else shown), *also]
        if batch is not None:
            write_batch(found, batch, wrong, source)
        else:
            write_checkpoint(found, wrong, source, every=every)
        has_findings = bool(wrong)
    if has_findings:
        raise typer.Exit(FOUND)


def _write_state(
    cli: Cli, project: Project, ref: CheckpointRef, found: Checkpoint, batch: int | None, limit: int, as_json: bool
) -> None:
    from itertools import islice

    from anabranch.checkpoint.state_reader import check_batch_has_state, state_rows
    from anabranch.cli.checkpoint_view import write_state
    from anabranch.operations.fence import check_not_fenced
    from anabranch.project.session import new_log_file, open_session

    check_not_fenced(ref.location.storage(), "its state cannot be read")
    wanted, log_file = check_batch_has_state(found, batch), new_log_file(project, "state")
    session = open_session(project, cli, log_file, debug=cli.debug)
    try:
        with cli.busy(f"Reading the state after batch {wanted}"), session.jvm.blamed():
            # One more than is shown tells whether there are more.
            every = state_rows(session.spark, str(ref.location), ref.unpack_state, wanted, str(log_file))
            rows = list(islice(every, limit + 1))
    finally:
        session.end()
    if as_json:
        write_json(_encodable({"batch": wanted, "rows": rows[:limit], "more": len(rows) > limit}))
    else:
        write_state(wanted, rows[:limit], has_more=len(rows) > limit)


def _encodable(value: Any) -> Any:
    """A file's name or text may hold lone surrogates, which no output can encode."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {_encodable(name): _encodable(held) for name, held in value.items()}
        case list() | tuple():
            return [_encodable(held) for held in value]
        case _:
            return value
