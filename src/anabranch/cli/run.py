"""anabranch run: pipelines in one Spark application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli import messages
from anabranch.cli.output import Master, check_output, cli_of, on_master
from anabranch.pipeline.definition import MOST_OFFSETS
from anabranch.text.format import parse_whole_ms_s

if TYPE_CHECKING:
    from anabranch.streaming.sinks.base import Start

Names = Annotated[list[str], typer.Argument(metavar="PIPELINE", help="anabranch pipelines lists them.")]


def run(
    context: typer.Context,
    names: Names,
    until_caught_up: Annotated[bool, typer.Option("--until-caught-up", help="Process what is there, then end.")] = False,
    trigger: Annotated[str | None, typer.Option(metavar="20s", help="How often a batch starts.")] = None,
    max_offsets: Annotated[
        int | None, typer.Option(min=1, max=MOST_OFFSETS, help="How many records a batch takes at most.")
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="console|topic[:NAME]|table:PATH", help="Send the results there instead.")
    ] = None,
    from_end: Annotated[
        bool,
        typer.Option("--from-end/--from-beginning", help="Where a first start begins. After that, the checkpoint knows."),
    ] = False,
    from_sink: Annotated[
        bool, typer.Option("--from-sink", help="A first start continues behind the records that its table holds.")
    ] = False,
    future_tolerance: Annotated[
        str | None, typer.Option(metavar="1h", help="How much later than its record's timestamp an event may be.")
    ] = None,
    allow_watermark_jump: Annotated[
        bool, typer.Option("--allow-watermark-jump", help="Let the first batch pass, however far its watermark has moved.")
    ] = False,
    settings: Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A Spark setting.")] = None,
    master: Master = None,
) -> None:
    """Run pipelines in one Spark application, until Ctrl-C, which ends them after their batch.

    Example: anabranch run visits-log --trigger 5s
    """
    from anabranch.cli.live import LiveRun
    from anabranch.pipeline.sinks import Console
    from anabranch.project.project import with_code
    from anabranch.streaming.messages import OUTPUT_CLOSED
    from anabranch.streaming.run import RunRequest, run_pipelines

    cli = cli_of(context)
    project = with_code(cli.project())
    pipelines = [
        project.sent_to(pipeline, to).changed(
            trigger_s=parse_whole_ms_s(trigger) if trigger is not None else None,
            max_offsets=max_offsets,
            future_tolerance_s=parse_whole_ms_s(future_tolerance) if future_tolerance is not None else None,
        )
        for pipeline in project.find_declared(names, to)
    ]
    if any(isinstance(pipeline.sink, Console) for pipeline in pipelines):
        check_output()
    ui = LiveRun(cli)
    start: Start = "sink" if from_sink else "latest" if from_end else "earliest"
    changes = {**_pairs(settings or []), **on_master(master)}
    request = RunRequest(pipelines, start, until_caught_up, changes, cli.debug, allow_watermark_jump)
    try:
        run_pipelines(project, request, ui)
    finally:
        ui.end()
    if ui.is_output_closed:
        cli.tell(OUTPUT_CLOSED())


def _pairs(settings: list[str]) -> dict[str, str]:
    pairs = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key:
            raise messages.SETTING_MALFORMED(setting=setting)
        pairs[key] = value
    return pairs
