"""anabranch topics: lists, creates and deletes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import messages
from anabranch.cli.output import AsJson, Cli, cli_of, confirm, write_json, write_table

if TYPE_CHECKING:
    from anabranch.checkpoint.layout import OffsetRange
    from anabranch.project.kafka import KafkaAdmin

app = typer.Typer(help="Kafka's topics.", invoke_without_command=True)


def connect(cli: Cli) -> KafkaAdmin:
    from anabranch.project.kafka import admin_of

    return admin_of(cli.project())


@app.callback()
def topics(context: typer.Context, as_json: AsJson = False) -> None:
    """List the topics, with the offsets that each partition retains. Or create and delete one.

    Example: anabranch topics
    """
    if context.invoked_subcommand is not None:
        return
    admin = connect(cli_of(context))
    found = {topic.name: admin.offset_ranges(topic.name) for topic in admin.all()}
    if as_json:
        partitions = {
            name: [{"partition": p, "earliest": held.earliest, "end": held.end} for p, held in ranges.items()]
            for name, ranges in found.items()
        }
        write_json([{"topic": name, "partitions": held} for name, held in partitions.items()])
        return
    rows = [
        (name, str(len(ranges)), f"{sum(held.count for held in ranges.values()):,}", _ranges(ranges))
        for name, ranges in found.items()
    ]
    write_table(("topic", "partitions", "records", "offsets"), rows)


def _ranges(ranges: dict[int, OffsetRange]) -> str:
    return "  ".join(f"{partition}: {held.earliest}..{held.end}" for partition, held in ranges.items())


@app.command()
def create(
    context: typer.Context,
    name: str,
    partitions: Annotated[int, typer.Option(help="How many partitions.", min=1)] = 2,
) -> None:
    """Create a topic.

    Example: anabranch topics create visits --partitions 2
    """
    cli = cli_of(context)
    connect(cli).create(name, partitions)
    cli.say(f"Created topic {name} with {partitions} partition{'s' if partitions > 1 else ''}.")


@app.command()
def delete(context: typer.Context, name: str, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Delete a topic and all its records. This cannot be undone.

    Example: anabranch topics delete visits_counter --yes
    """
    cli = cli_of(context)
    admin = connect(cli)
    records = sum(held.count for held in admin.offset_ranges(name).values())
    if not yes and not sys.stdin.isatty():
        raise messages.DELETE_NEEDS_YES(topic=name, records=records)
    confirm(yes, f"Delete topic {name} and its {records:,} records for good?")
    admin.delete(name)
    cli.say(f"Deleted topic {name} with {records:,} records.")
