"""anabranch reprocess: recompute windows from the lake."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.output import DryRun, Master, PlanAsJson, Yes, check_answer, cli_of, confirm, on_master, show


def reprocess(
    context: typer.Context,
    name: Annotated[str, typer.Argument(metavar="PIPELINE")],
    start: Annotated[str, typer.Option("--from", metavar="TIME", help="Included; in the project's zone unless it has one.")],
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="Not included.")],
    topic: Annotated[str | None, typer.Option(help="The topic to correct, if not the pipeline's own.")] = None,
    master: Master = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
) -> None:
    """Recompute windows from the lake and emit their results again, while the stream runs.

    Example: anabranch reprocess visits-counter --from 2025-09-04T07:00 --to 2025-09-04T07:10
    """
    from anabranch.operations.log import new_operation_id
    from anabranch.project.project import with_code
    from anabranch.project.session import new_log_file, open_session
    from anabranch.reprocess.apply import (
        REPROCESS,
        apply_reprocess,
        batch_job_settings,
        lake_for_executors,
        plan_reprocess,
    )
    from anabranch.reprocess.explain import explain_reprocess, explain_sent, question
    from anabranch.reprocess.inspect import check_range
    from anabranch.reprocess.plan import Range, with_topic
    from anabranch.text.format import parse_instant, parse_topic_name

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = with_code(cli.project())
    target = None if topic is None else parse_topic_name(topic)
    pipeline = with_topic(project.find_declared([name])[0], target)
    zone = project.settings.timezone
    asked = Range(*(round(parse_instant(text, zone).timestamp() * 1000) for text in (start, end)))
    with cli.busy("Checking the stream and the lake"):
        wanted, lake_version = check_range(project, pipeline, asked)
    log_file, shared = new_log_file(project, "reprocess"), lake_for_executors(project, pipeline)
    changes = {**batch_job_settings(project), **on_master(master)}
    session = open_session(project, cli, log_file, changes=changes, shared=shared, debug=cli.debug)
    operation = new_operation_id("reprocess")
    with project.operations.prepared(operation):
        plan = plan_reprocess(project, pipeline, asked, wanted, lake_version, operation, session, cli)
        show(explain_reprocess(plan), REPROCESS.as_json(plan), as_json)
        if dry_run or not plan.results:
            return
        confirm(yes, question(plan))
        with cli.counting("Sending results") as count:
            sent = apply_reprocess(project, plan, count)
        cli.say_all(explain_sent(plan, sent))
