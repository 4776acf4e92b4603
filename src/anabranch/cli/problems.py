"""anabranch problems: records that could not be used, by reason (no JVM); and those that could be used today."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from anabranch.cli.audit import Name
from anabranch.cli.lake import TopicOrCommand, check_topic_last
from anabranch.cli.output import (
    FOUND,
    AsJson,
    DryRun,
    Master,
    PlanAsJson,
    Yes,
    check_answer,
    cli_of,
    on_master,
    write_json,
    write_line,
    write_table,
)
from anabranch.text.format import escape_control_chars

_SHOWN_CHARACTERS = 120


app = typer.Typer(help="Records with problems.", invoke_without_command=True, cls=TopicOrCommand)


@app.callback()
def problems(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Option(metavar="TOPIC", help="Of which topic: also anabranch problems TOPIC; not needed for the only one."),
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Only records with this problem.")] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many records to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Count the records with problems by reason, and show some of them.

    Example: anabranch problems --reason 'no event_time' --limit 5
    """
    if context.invoked_subcommand is not None:
        check_topic_last(context, topic)
        return
    from anabranch.project import lake

    cli = cli_of(context)
    counts, shown = lake.problems(cli.project(), topic, reason, limit)
    if as_json:
        records = [{**asdict(problem), "value": _text(problem.value)} for problem in shown]
        write_json({"counts": counts, "records": records})
        return
    if not counts:
        which = "a problem" if reason is None else f"the problem {reason!r}"
        cli.say(f"No record of the lake has {which}.")
        return
    write_table(("records", "problem"), [(f"{count:,}", name) for name, count in counts.items()])
    for problem in shown:
        where = f"{problem.topic} {problem.partition}:{problem.offset}"
        text = _text(problem.value)
        shown_text = "(null)" if text is None else escape_control_chars(text)[:_SHOWN_CHARACTERS]
        write_line(f"{where}  {problem.reason}  {shown_text}")


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", errors="backslashreplace")


@app.command()
def replay(
    context: typer.Context,
    name: Name,
    master: Master = None,
    yes: Yes = False,
    dry_run: DryRun = False,
    as_json: PlanAsJson = False,
) -> None:
    """Count records that had a problem when they came and have none now, after a rule or the schema has changed.

    Repairs their windows, as far as they are closed, also where results are `different`. Exits with 4 if one is still wrong.

    Example: anabranch problems replay visits-counter --dry-run
    """
    from anabranch.audit.inspect import audited
    from anabranch.audit.session import AuditSession
    from anabranch.cli.repair import carry_out, is_right, repaired_json
    from anabranch.project.project import with_code
    from anabranch.repair.apply import Repaired
    from anabranch.repair.inspect import repairable
    from anabranch.repair.plan import EVERY
    from anabranch.repair.replay import find_replayable

    cli = cli_of(context)
    check_answer(yes, dry_run)
    project = with_code(cli.project())
    pipeline = repairable(audited(project.find_declared([name])[0], None))
    with AuditSession(project, pipeline, cli, changes=on_master(master), debug=cli.debug) as session:
        found = find_replayable(project, pipeline, session)
        notes = found.notes(pipeline)
        for note in notes:
            cli.tell(note)
        if not found.closed:
            audit, done = None, Repaired(None)
        else:
            audit = session.audit(found.wanted(pipeline))
            done = carry_out(cli, project, pipeline, audit, EVERY, session, yes=yes, dry_run=dry_run, as_json=as_json)
    if as_json:
        write_json({**repaired_json(audit, done), "notes": [note.as_json() for note in notes]})
    raise typer.Exit(0 if dry_run or audit is None or is_right(audit, done) else FOUND)
