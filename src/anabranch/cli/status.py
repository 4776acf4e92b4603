"""anabranch status: how the pipelines are doing. No JVM."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_table

if TYPE_CHECKING:
    from anabranch.streaming.status import PipelineStatus


def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Of each pipeline: running?, last batch, watermark, lag per partition, records with problems.

    Example: anabranch status --json
    """
    from anabranch.streaming.status import status_of

    cli = cli_of(context)
    found = status_of(cli.project())
    if as_json:
        write_json(asdict(found))
        return
    columns = ("pipeline", "sink", "state", "batch", "watermark", "lag", "records", "problems")
    write_table(columns, [_row(one) for one in found.pipelines])
    for one in found.pipelines:
        if one.trouble is not None:
            cli.say(f"{one.name}: {one.trouble}")
    cli.say(f"kafka: {found.kafka}")


def _row(one: PipelineStatus) -> tuple[str, ...]:
    state = f"running ({one.running})" if one.running else "stopped" if one.last_batch is not None else "never ran"
    if one.unfinished_batch is not None and one.running is None:
        state = f"stopped, batch {one.unfinished_batch} not finished"
    if one.operation is not None and one.running is None:
        state = f"stopped, {one.operation} not finished"
    lag = "?" if one.lag is None else " ".join(f"{partition}:{count:,}" for partition, count in one.lag.items())
    unknown = "?" if one.operation is not None else "-"
    batch = unknown if one.last_batch is None else str(one.last_batch)
    counts = ("?" if count is None else f"{count:,}" for count in (one.records, one.problems))
    return (one.name, one.sink, state, batch, one.watermark or unknown, lag, *counts)
