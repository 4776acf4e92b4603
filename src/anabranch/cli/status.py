"""anabranch pipelines and status: what there is, and how it goes. No JVM."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import cli_of, write_json, write_table
from anabranch.pipeline.definition import PIPELINES, Pipeline, sink_words
from anabranch.text.durations import format_duration

if TYPE_CHECKING:
    from anabranch.streaming.status import PipelineStatus

AsJson = Annotated[bool, typer.Option("--json")]


def pipelines(context: typer.Context, as_json: AsJson = False) -> None:
    """List the pipelines, as this project's settings have them.

    Example: anabranch pipelines
    """
    project = cli_of(context).project()
    found = [project.pipeline(pipeline) for pipeline in PIPELINES]
    if as_json:
        write_json([{**asdict(pipeline), "sink": sink_words(pipeline.sink)} for pipeline in found])
    else:
        columns = ("pipeline", "from", "to", "trigger", "max offsets", "what it does")
        write_table(columns, [_pipeline_row(pipeline) for pipeline in found])


def _pipeline_row(pipeline: Pipeline) -> tuple[str, ...]:
    trigger = "as data comes" if pipeline.trigger_s is None else format_duration(pipeline.trigger_s)
    limit = "all" if pipeline.max_offsets is None else str(pipeline.max_offsets)
    return (pipeline.name, pipeline.source_topic, sink_words(pipeline.sink), trigger, limit, pipeline.summary)


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
    write_table(columns, [_status_row(one) for one in found.pipelines])
    cli.say(f"kafka: {found.kafka}")


def _status_row(one: PipelineStatus) -> tuple[str, ...]:
    state = f"running ({one.running})" if one.running else "stopped" if one.last_batch is not None else "never ran"
    if one.unfinished_batch is not None and one.running is None:
        state = f"stopped, batch {one.unfinished_batch} not finished"
    if one.operation is not None and one.running is None:
        state = f"stopped, {one.operation} not finished"
    lag = "?" if one.lag is None else " ".join(f"{partition}:{count:,}" for partition, count in one.lag.items())
    batch = "-" if one.last_batch is None else str(one.last_batch)
    return (one.name, one.sink, state, batch, one.watermark or "-", lag, f"{one.records:,}", f"{one.problems:,}")
