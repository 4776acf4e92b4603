"""anabranch lateness: with which watermark delay how many records would have been counted. No JVM."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import AsJson, cli_of, write_json

if TYPE_CHECKING:
    from anabranch.lateness.report import Lateness


def lateness(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PIPELINE", help="One with windows and a watermark.")],
    start: Annotated[
        str | None,
        typer.Option("--from", metavar="TIME", help="Of event times; in the project's zone unless it has one."),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="Not included.")] = None,
    topic: Annotated[
        str | None, typer.Option(metavar="NAME", help="The topic that it was sent to, if not to its own sink.")
    ] = None,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the delays into this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """The watermark delay that each record needed: with which delay how many would have been late.

    Example: anabranch lateness visits-counter --svg lateness.svg
    """
    from anabranch.lateness.inspect import Asked, lateness_of, sent_to
    from anabranch.text.format import parse_instant, parse_topic_name

    cli = cli_of(context)
    project = cli.project_as_read()
    pipeline = sent_to(project.find_declared([name])[0], None if topic is None else parse_topic_name(topic))
    zone = project.settings.timezone
    bounds = [None if text is None else round(parse_instant(text, zone).timestamp() * 1000) for text in (start, end)]
    with cli.busy(f"Reading the event times of {pipeline.topic.name} in the lake"):
        found, needs = lateness_of(project, pipeline, Asked(*bounds))
    if svg is not None:
        from anabranch.lateness.picture import picture

        svg.write_text(picture(found, needs), encoding="utf-8")
    if as_json:
        write_json(found.as_json())
    else:
        _write(found)
    if svg is not None:
        cli.say(f"Drawn into {svg}.")


def _write(found: Lateness) -> None:
    from anabranch.cli.output import write_line, write_lines
    from anabranch.cli.screen import fit_table, screen, write_wrapped
    from anabranch.lateness.explain import TITLES, advice, cells, headline, notes
    from anabranch.text.layout import Column

    on = screen()
    write_wrapped(headline(found), on)
    if found.records:
        write_line("")
        write_lines(fit_table([Column(title) for title in TITLES], cells(found), on).lines)
    write_line("")
    write_wrapped(advice(found), on)
    for note in notes(found):
        write_wrapped(note, on)
