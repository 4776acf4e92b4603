"""anabranch explain: what became of the records of one window, what closed it, or what it waits for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import AsJson, Cli, Master, cli_of, on_master, write_json, write_line, write_table

if TYPE_CHECKING:
    from anabranch.explanation.report import Explanation
    from anabranch.pipeline.definition import Pipeline
    from anabranch.project.project import Project


def explain(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="One with windows and a watermark.")],
    window: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Of the window: its begin, or any time in it where windows do not overlap; in the project's zone.",
        ),
    ],
    key: Annotated[
        str | None, typer.Option(metavar="JSON", help="Only the records of this result's key, and its results. Starts Spark.")
    ] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The topic of the results, if not the pipeline's own.")
    ] = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """What became of the records of one window: which batches read them, which came too late and why, what closed it.

    Of an open window: what it waits for. The stream may be running. Without --key no Spark is started.

    Example: anabranch explain visits-counter --window 2025-09-04T07:00Z
    """
    from anabranch.explanation.inspect import LakeRecords, explain_window, look_at
    from anabranch.explanation.window import window_start_ms
    from anabranch.lateness.inspect import sent_to
    from anabranch.project.project import with_code
    from anabranch.text.format import parse_instant, parse_topic_name

    cli = cli_of(context)
    project = cli.project_as_read() if key is None else with_code(cli.project())
    pipeline = sent_to(project.find_declared([name])[0], None if topic is None else parse_topic_name(topic))
    start_ms = window_start_ms(pipeline, parse_instant(window, project.settings.timezone))
    if key is not None:
        found = _of_key(cli, project, pipeline, start_ms, key, master)
    else:
        with cli.busy("Looking at the batches and the lake"):
            look = look_at(project, pipeline, start_ms)
            found = explain_window(project, look, LakeRecords(look))
    if as_json:
        write_json(found.as_json())
    else:
        _write(found)


def _of_key(cli: Cli, project: Project, pipeline: Pipeline, start_ms: int, key: str, master: str | None) -> Explanation:
    from anabranch.audit.inspect import audited
    from anabranch.audit.session import AuditSession
    from anabranch.explanation.by_key import explain_key
    from anabranch.explanation.inspect import look_at
    from anabranch.explanation.key import check_key

    pipeline = audited(pipeline, None)
    check_key(pipeline, start_ms, key)
    with cli.busy("Looking at the batches and the lake"):
        look = look_at(project, pipeline, start_ms)
    with AuditSession(project, pipeline, cli, changes=on_master(master), debug=cli.debug) as session:
        return session.run("Reading the records of the key", lambda spark: explain_key(spark, project, look, key))


def _write(found: Explanation) -> None:
    from anabranch.explanation.explain import in_words

    for part in in_words(found):
        if isinstance(part, str):
            write_line(part)
        else:
            write_table(part.columns, part.rows)
