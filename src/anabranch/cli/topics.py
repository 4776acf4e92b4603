"""anabranch topics: lists, creates and deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Cli, cli_of, write_json, write_table

if TYPE_CHECKING:
    from anabranch.checkpoint.offsets import OffsetRange
    from anabranch.kafka.admin import Topics

app = typer.Typer(help="Kafka's topics.", invoke_without_command=True)


def topics_of(cli: Cli) -> Topics:
    from anabranch.project import cluster as kafka

    return kafka.topics_of(cli.project())


@app.callback()
def topics(context: typer.Context, as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """List the topics, with what each partition holds. Or create and delete one.

    Example: anabranch topics
    """
    if context.invoked_subcommand is not None:
        return
    kafka = topics_of(cli_of(context))
    found = {topic.name: kafka.reach(topic.name) for topic in kafka.all()}
    if as_json:
        partitions = {
            name: [{"partition": p, "earliest": held.earliest, "end": held.end} for p, held in reach.items()]
            for name, reach in found.items()
        }
        write_json([{"topic": name, "partitions": held} for name, held in partitions.items()])
        return
    rows = [
        (name, str(len(reach)), f"{sum(held.end - held.earliest for held in reach.values()):,}", _ranges(reach))
        for name, reach in found.items()
    ]
    write_table(("topic", "partitions", "records", "offsets"), rows)


def _ranges(reach: dict[int, OffsetRange]) -> str:
    return "  ".join(f"{partition}: {held.earliest}..{held.end}" for partition, held in reach.items())


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
    topics_of(cli).create(name, partitions)
    cli.say(f"Created topic {name} with {partitions} partition{'s' if partitions > 1 else ''}.")


@app.command()
def delete(context: typer.Context, name: str, yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False) -> None:
    """Delete a topic and all its records. This cannot be undone.

    Example: anabranch topics delete visits_counter --yes
    """
    import sys

    from anabranch.errors import Misused, Refused

    cli = cli_of(context)
    kafka = topics_of(cli)
    records = sum(held.end - held.earliest for held in kafka.reach(name).values())
    if not yes:
        if not sys.stdin.isatty():
            raise Misused(f"deleting {name} and its {records:,} records needs a yes.", f"anabranch topics delete {name} --yes")
        if not typer.confirm(f"Delete topic {name} and its {records:,} records for good?", err=True):
            raise Refused("nothing was deleted.")
    kafka.delete(name)
    cli.say(f"Deleted topic {name} with {records:,} records.")
