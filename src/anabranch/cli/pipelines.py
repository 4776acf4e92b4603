"""anabranch pipelines: what there is to run. No JVM."""

from __future__ import annotations

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_table
from anabranch.pipeline.definition import Pipeline
from anabranch.text.format import format_duration


def pipelines(context: typer.Context, as_json: AsJson = False) -> None:
    """List the pipelines, as this project's settings have them.

    Example: anabranch pipelines
    """
    from anabranch.pipeline.catalog import PIPELINES

    project = cli_of(context).project()
    found = [project.pipeline(pipeline) for pipeline in PIPELINES]
    if as_json:
        write_json([pipeline.as_json() for pipeline in found])
    else:
        columns = ("pipeline", "from", "to", "trigger", "max offsets", "what it does")
        write_table(columns, [_row(pipeline) for pipeline in found])


def _row(pipeline: Pipeline) -> tuple[str, ...]:
    trigger = "as data comes" if pipeline.trigger_s is None else format_duration(pipeline.trigger_s)
    limit = "all" if pipeline.max_offsets is None else str(pipeline.max_offsets)
    return (pipeline.name, pipeline.source_topic, pipeline.sink.describe(), trigger, limit, pipeline.summary)
