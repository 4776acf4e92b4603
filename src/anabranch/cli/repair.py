"""anabranch repair: corrects exactly what an audit found, beside the running stream."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.audit import From, Name, To, Topic, range_of, show_audit
from anabranch.cli.messages import AUDIT_AND_RANGE
from anabranch.cli.output import (
    FOUND,
    Cli,
    DryRun,
    Master,
    PlanAsJson,
    Yes,
    check_answer,
    cli_of,
    confirm,
    on_master,
    write_json,
    write_line,
    write_lines,
)

if TYPE_CHECKING:
    from anabranch.audit.session import AuditSession
    from anabranch.audit.verdict import Audit
    from anabranch.pipeline.definition import Pipeline
    from anabranch.project.project import Project
    from anabranch.repair.apply import Repaired
    from anabranch.repair.plan import Repairable
    from anabranch.reprocess.plan import ReprocessPlan


def repair(
    context: typer.Context,
    name: Name,
    start: From = None,
    end: To = None,
    audit_id: Annotated[str | None, typer.Option("--audit", metavar="ID", help="What this audit found; not a new one.")] = None,
    only: Annotated[str, typer.Option(metavar="CLASSES", help="Of late, missing and different.")] = "late,missing",
    topic: Topic = None,
    master: Master = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
) -> None:
    """Send the right results for those that are wrong, while the stream runs; then audit these windows again.

    Audits first, unless --audit names an audit. Results that are `different` are repaired only if --only names them: their
    code or data has changed, and it is for a person to say which is right. Exits with 4 if a result is still wrong.

    Example: anabranch repair visits-counter --from 2025-09-04T07:00 --to 2025-09-04T08:00
    """
    from anabranch.audit.inspect import audited
    from anabranch.audit.scope import Wanted
    from anabranch.audit.session import AuditSession
    from anabranch.audit.store import audits_of
    from anabranch.project.project import with_code
    from anabranch.repair.inspect import repairable
    from anabranch.repair.plan import parse_classes
    from anabranch.text.format import parse_topic_name

    cli = cli_of(context)
    check_answer(yes, dry_run)
    classes, project = parse_classes(only), with_code(cli.project())
    pipeline = repairable(audited(project.find_declared([name])[0], None if topic is None else parse_topic_name(topic)))
    asked = range_of(start, end, project.settings.timezone)
    if audit_id is not None and asked is not None:
        raise AUDIT_AND_RANGE()
    with AuditSession(project, pipeline, cli, changes=on_master(master), debug=cli.debug) as session:
        audits = audits_of(project, pipeline)
        audit = session.audit(Wanted(asked)) if audit_id is None else audits.find(audit_id)
        done = carry_out(cli, project, pipeline, audit, classes, session, yes=yes, dry_run=dry_run, as_json=as_json)
    if as_json:
        write_json(repaired_json(audit, done))
    raise typer.Exit(0 if dry_run or is_right(audit, done) else FOUND)


def carry_out(
    cli: Cli,
    project: Project,
    pipeline: Pipeline,
    audit: Audit,
    only: tuple[Repairable, ...],
    session: AuditSession,
    *,
    yes: bool,
    dry_run: bool = False,
    as_json: bool = False,
) -> Repaired:
    """Shows the plan, asks, sends; shows the audit of what was repaired. With `as_json` nothing is shown."""
    from anabranch.audit.explain import verdict_line
    from anabranch.repair.apply import repair as apply
    from anabranch.repair.plan import left_alone
    from anabranch.reprocess.explain import explain_reprocess, explain_sent, question

    def agreed(plan: ReprocessPlan) -> bool:
        if not as_json:
            write_lines(explain_reprocess(plan))
        for note in left_alone(audit, only):
            cli.tell(note)
        if not dry_run:
            confirm(yes, question(plan))
        return not dry_run

    def sending() -> Any:
        return cli.counting("Sending results")

    done = apply(project, pipeline, audit, only, agreed=agreed, sending=sending, session=session)
    if done.plan is None:
        if not as_json:
            write_line(verdict_line(audit))
        for note in left_alone(audit, only):
            cli.tell(note)
        cli.say("Nothing to repair.")
    if done.plan is not None and done.after is not None:
        cli.say_all(explain_sent(done.plan, done.sent or 0))
        if not as_json:
            write_line("")
            show_audit(done.after, as_json=False, verdict_last=True)
    return done


def is_right(audit: Audit, done: Repaired) -> bool:
    """Whether all that was looked at is right now."""
    return (audit if done.after is None else done.after).verdict.is_clean


def repaired_json(audit: Audit | None, done: Repaired) -> dict[str, Any]:
    from anabranch.reprocess.apply import FORMATS

    plan = None if done.plan is None else FORMATS[done.plan.kind].as_json(done.plan)
    after = None if done.after is None else done.after.as_json()
    return {"audit": None if audit is None else audit.as_json(), "plan": plan, "sent": done.sent, "after": after}
