"""anabranch lake: what the lake holds. No JVM."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer
from typer.core import TyperGroup

from anabranch.cli.output import AsJson, cli_of, write_json, write_table

# Of the commands about a lake.
Topic = Annotated[str | None, typer.Argument(metavar="TOPIC", help="Whose lake; not needed where there is but one.")]


class TopicOrCommand(TyperGroup):
    """`lake TOPIC` beside `lake optimize`: a first word that is no command is the topic."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            args = ["--topic", *args]
        return super().parse_args(ctx, args)


def check_topic_last(context: typer.Context, topic: str | None) -> None:
    """Refuses a topic before the name of a command."""
    if topic is not None:
        raise typer.BadParameter(f"the topic comes last: {context.command_path} {context.invoked_subcommand} {topic}")


app = typer.Typer(help="Rows, files and offsets of a lake.", invoke_without_command=True, cls=TopicOrCommand)


@app.callback()
def lake(
    context: typer.Context,
    topic: Annotated[
        str | None, typer.Option(metavar="TOPIC", help="Whose lake: also anabranch lake TOPIC; not needed for the only one.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show path, rows, files, bytes, version, offsets per partition and newest record of a topic's lake.

    Example: anabranch lake visits --json
    """
    if context.invoked_subcommand is not None:
        check_topic_last(context, topic)
        return
    from anabranch.project.lake import lake_state

    state = lake_state(cli_of(context).project(), topic)
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
def optimize(context: typer.Context, topic: Topic = None) -> None:
    """Compact small files. The rows, and what a rewind needs, stay as they are.

    Example: anabranch lake optimize
    """
    from anabranch.project.lake import compact

    cli = cli_of(context)
    with cli.busy("Compacting small files"):
        before, after = compact(cli.project(), topic)
    cli.say(f"{before:,} files are now {after:,}.")
