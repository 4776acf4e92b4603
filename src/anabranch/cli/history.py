"""anabranch history: the batches of a pipeline in a period, with a picture. No JVM, no Kafka."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.checkpoint import To
from anabranch.cli.output import AsJson, cli_of, write_json


def history(
    context: typer.Context,
    pipeline: Annotated[str, typer.Argument(help="The pipeline.")],
    to: To = None,
    last: Annotated[str, typer.Option(metavar="DURATION", help="How far back.")] = "1h",
    every: Annotated[bool, typer.Option("--all", help="List every batch, not only the newest 20.")] = False,
    as_json: AsJson = False,
) -> None:
    """The batches of the last hour: rows, late and bad records, duration, and a picture of them over time.

    Example: anabranch history visits-counter --last 1d
    """
    from anabranch.cli.history_view import write_history
    from anabranch.streaming.batch_list import batch_list_of, parse_period_s

    cli, period_s = cli_of(context), parse_period_s(last)
    project = cli.project_as_read()
    with cli.busy(f"Reading the history of {pipeline}"):
        found = batch_list_of(project, pipeline, to, period_s)
    if as_json:
        write_json(found.as_json())
    else:
        write_history(found, last, every=every)
