"""anabranch pipelines: what there is to run. No JVM."""

from __future__ import annotations

from pathlib import Path

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_table
from anabranch.pipeline.definition import Pipeline
from anabranch.text.format import format_duration


def pipelines(context: typer.Context, as_json: AsJson = False) -> None:
    """List the pipelines, as this project's settings have them.

    Example: anabranch pipelines
    """
    cli = cli_of(context)
    project = cli.project_as_read()
    project.known.check_read()
    found = [project.pipeline(pipeline) for pipeline in project.catalog.pipelines]
    if as_json:
        write_json([pipeline.as_json() for pipeline in found])
    else:
        # Where ours are defined is of no use to a user.
        columns = ("pipeline", "from", "to", "trigger", "max offsets", "what it does")
        places = () if project.known.is_builtin else ("defined in",)
        rows = [_row(pipeline) for pipeline in found]
        if places:
            rows = [(*row, _place(pipeline, project.directory)) for row, pipeline in zip(rows, found, strict=True)]
        write_table((*columns, *places), rows)


def _row(pipeline: Pipeline) -> tuple[str, ...]:
    trigger = "as data comes" if pipeline.trigger_s is None else format_duration(pipeline.trigger_s)
    limit = "all" if pipeline.max_offsets is None else str(pipeline.max_offsets)
    return (pipeline.name, ", ".join(pipeline.topic_names), pipeline.sink.describe(), trigger, limit, pipeline.summary)


def _place(pipeline: Pipeline, directory: Path) -> str:
    if pipeline.place is None:
        return ""
    file = Path(pipeline.place.file)
    shown = file.relative_to(directory) if file.is_relative_to(directory) else file
    return f"{shown}:{pipeline.place.line}"
