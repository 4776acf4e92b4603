"""anabranch checkpoint: looks into any checkpoint of Structured Streaming. No Spark, no JVM; nothing is changed."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.output import Cli, cli_of, write_json

if TYPE_CHECKING:
    from anabranch.checkpoint.checkpoint import Checkpoint
    from anabranch.project.checkpoints import CheckpointRef
    from anabranch.project.project import Project

_MANY = 1000
To = Annotated[
    str | None, typer.Option(metavar="console|topic [NAME]|table PATH", help="The pipeline's checkpoint for this sink.")
]


def checkpoint(
    context: typer.Context,
    names: Annotated[list[str], typer.Argument(metavar="PIPELINE|PATH", help="A pipeline, or any checkpoint's directory.")],
    every: Annotated[bool, typer.Option("--all", help="Every batch, not only the newest 20; every file is looked at.")] = False,
    batch: Annotated[int | None, typer.Option(metavar="N", min=0, help="One batch, in full.")] = None,
    state: Annotated[bool, typer.Option("--state", help="Keys and values of its state; starts Spark.")] = False,
    limit: Annotated[int, typer.Option(min=1, help="Of --state: so many rows.")] = 100,
    to: To = None,
    as_json: Annotated[bool, typer.Option("--json", help="All of it.")] = False,
) -> None:
    """Show a checkpoint: its batches, its state, what can be rewound to, and what is wrong with it.

    Example: anabranch checkpoint visits-counter --batch 7
    """
    from anabranch.checkpoint.report import as_json as report
    from anabranch.cli.checkpoint_view import write_batch, write_checkpoint
    from anabranch.project.checkpoints import resolve_checkpoint, retained_offsets

    cli = cli_of(context)
    project = cli.project()
    ref = resolve_checkpoint(project, cli.directory, names, to)
    checkpoint = open_checkpoint(ref.path)
    if state:
        _write_state(cli, project, ref, checkpoint, batch, limit, as_json)
        return
    held = retained_offsets(project, ref)
    if batch is not None:
        _check_batch(checkpoint, batch)
    if as_json:
        # Every entry is read, and every verdict made: of 10,000 batches that takes seconds.
        is_long = batch is None and len(checkpoint.batches) > _MANY
        with cli.busy(f"Reading {len(checkpoint.batches):,} batches") if is_long else nullcontext():
            found = report(checkpoint, None if batch is None else [batch], held)
        write_json(_encodable(found))
    elif batch is not None:
        write_batch(checkpoint, batch, held)
    else:
        write_checkpoint(checkpoint, held, every=every)


def _write_state(
    cli: Cli, project: Project, ref: CheckpointRef, checkpoint: Checkpoint, batch: int | None, limit: int, as_json: bool
) -> None:
    from itertools import islice

    from anabranch.checkpoint.state_rows import check_batch_has_state, state_rows
    from anabranch.cli.checkpoint_view import write_state
    from anabranch.operations.fence import check_not_fenced
    from anabranch.project.session import new_log_file, open_session

    check_not_fenced(ref.path, "its state cannot be read")
    wanted, log_file = check_batch_has_state(checkpoint, batch), new_log_file(project, "state")
    session = open_session(project, cli, log_file, debug=cli.debug)
    try:
        with cli.busy(f"Reading the state after batch {wanted}"):
            # One more than is shown tells whether there are more.
            rows = list(islice(state_rows(session, ref, wanted, str(log_file)), limit + 1))
    finally:
        session.end()
    if as_json:
        write_json(_encodable({"batch": wanted, "rows": rows[:limit], "more": len(rows) > limit}))
    else:
        write_state(wanted, rows[:limit], has_more=len(rows) > limit)


def _encodable(value: Any) -> Any:
    """A file's name or text may hold halves of characters, which no output can be written with."""
    match value:
        case str():
            return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
        case dict():
            return {_encodable(name): _encodable(held) for name, held in value.items()}
        case list() | tuple():
            return [_encodable(held) for held in value]
        case _:
            return value


def open_checkpoint(path: Path) -> Checkpoint:
    """The inventory of a directory that is a checkpoint, or why it is none."""
    from anabranch.checkpoint.reader import is_checkpoint, look
    from anabranch.errors import Failed, Misused

    try:
        if not path.is_dir():
            what = "is not a directory" if path.exists() else "is not there"
            raise Misused(f"there is no checkpoint: {path} {what}.", *_others(path))
        if not is_checkpoint(path):
            raise Misused(f"{path} is not a checkpoint: it has no offsets, commits or state in it.", *_others(path))
        return look(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failed(f"{path} cannot be read: {reason}.", "look as the user that runs the query") from None


def _others(path: Path) -> list[str]:
    """Checkpoints nearby: below a directory that is none, or beside one that is missing (another sink of the pipeline)."""
    from anabranch.checkpoint.reader import is_checkpoint

    around = path if path.is_dir() else path.parent
    nearby = sorted(one for one in around.iterdir() if one.is_dir() and is_checkpoint(one)) if around.is_dir() else []
    found = [f"anabranch checkpoint {one}" for one in nearby[:5]]
    return found or ["anabranch pipelines lists the pipelines; one that has never run has no checkpoint"]


def _check_batch(checkpoint: Checkpoint, batch: int) -> None:
    from anabranch.errors import Misused

    if batch in checkpoint.offsets or batch in checkpoint.commits:
        return
    if not checkpoint.batches:
        raise Misused(f"there is no batch {batch}: no batch was planned here yet.")
    oldest, newest = checkpoint.batches[0], checkpoint.batches[-1]
    fact = f"batch {batch} is gone: the oldest batch kept is {oldest}." if batch < oldest else f"there is no batch {batch}."
    raise Misused(fact, f"the batches are {oldest} to {newest}")
