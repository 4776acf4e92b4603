"""anabranch audit: which results are wrong, and why; anabranch audits: those that were made."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.messages import SINCE_AND_RANGE
from anabranch.cli.output import FOUND, AsJson, Master, cli_of, on_master, write_json, write_line, write_lines, write_table

if TYPE_CHECKING:
    from anabranch.audit.verdict import Audit
    from anabranch.errors import Reason
    from anabranch.reprocess.plan import Range

Name = Annotated[str, typer.Argument(metavar="PIPELINE")]
From = Annotated[str | None, typer.Option("--from", metavar="TIME", help="Included; in the project's zone unless it has one.")]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Not included.")]
Topic = Annotated[str | None, typer.Option(help="The topic of the results, if not the pipeline's own.")]


def audit(
    context: typer.Context,
    name: Name,
    start: From = None,
    end: To = None,
    since_last: Annotated[
        bool, typer.Option("--since-last", help="Only windows that closed, or got records, since the last audit.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="List the results that are right, too.")] = False,
    repair: Annotated[
        str | None, typer.Option(metavar="CLASSES", help="Repair at once what is wrong of these classes, such as late.")
    ] = None,
    topic: Topic = None,
    master: Master = None,
    as_json: AsJson = False,
) -> None:
    """Compare the results that were emitted with the lake: which are wrong, and why. The stream may be running.

    Without a range: every window that has closed since the oldest batch that is known. Exits with 4 if a result is wrong.

    Example: anabranch audit visits-counter --from 2025-09-04T07:00 --to 2025-09-04T08:00
    """
    from anabranch.audit.inspect import audited
    from anabranch.audit.scope import Wanted
    from anabranch.audit.session import AuditSession
    from anabranch.audit.store import last_of_all
    from anabranch.cli.repair import carry_out, is_right, repaired_json
    from anabranch.project.project import with_code
    from anabranch.repair.inspect import repairable
    from anabranch.repair.plan import parse_classes
    from anabranch.text.format import parse_topic_name

    cli = cli_of(context)
    project = with_code(cli.project())
    pipeline = audited(project.find_declared([name])[0], None if topic is None else parse_topic_name(topic))
    asked = range_of(start, end, project.settings.timezone)
    if since_last and asked is not None:
        raise SINCE_AND_RANGE()
    wanted = Wanted(asked, since=last_of_all(project, pipeline) if since_last else None, every=every)
    classes = None if repair is None else parse_classes(repair)
    if classes is not None:
        repairable(pipeline)
    with AuditSession(project, pipeline, cli, changes=on_master(master), debug=cli.debug) as session:
        found = session.audit(wanted)
        if classes is None:
            show_audit(found, as_json=as_json)
            raise typer.Exit(0 if found.verdict.is_clean else FOUND)
        if not as_json:
            show_audit(found, as_json=False)
        done = carry_out(cli, project, pipeline, found, classes, session, yes=True, as_json=as_json)
    if as_json:
        write_json(repaired_json(found, done))
    raise typer.Exit(0 if is_right(found, done) else FOUND)


def range_of(start: str | None, end: str | None, zone: str) -> Range | None:
    """None: neither was given."""
    from anabranch.audit.windows import EVER
    from anabranch.reprocess.plan import Range
    from anabranch.text.format import parse_instant

    if start is None and end is None:
        return None
    start_ms, end_ms = (None if one is None else round(parse_instant(one, zone).timestamp() * 1000) for one in (start, end))
    return Range(EVER.start_ms if start_ms is None else start_ms, EVER.end_ms if end_ms is None else end_ms)


def show_audit(found: Audit, *, as_json: bool, verdict_last: bool = False) -> None:
    from anabranch.audit.explain import in_words

    if as_json:
        write_json(found.as_json())
        return
    words = in_words(found, verdict_last=verdict_last)
    write_lines(words.head)
    if words.rows:
        write_table(words.columns, words.rows)
        write_line("")
    write_lines(words.rest)


def audits(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, help="How many to list.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the audits that were made, the newest first.

    Example: anabranch audits
    """
    from itertools import islice

    from anabranch.audit.explain import summary_row
    from anabranch.audit.store import AUDIT, all_audits

    cli = cli_of(context)
    unreadable: list[Reason] = []
    found = list(islice(all_audits(cli.project(), unreadable.append), limit + 1))
    for note in unreadable:
        cli.tell(note)
    if as_json:
        write_json([AUDIT.as_json(one) for one in found[:limit]])
        return
    if not (found or unreadable):
        cli.say("There are none yet: anabranch audit PIPELINE makes one.")
    if found:
        rows = [summary_row(one) for one in found[:limit]]
        write_table(("audit", "pipeline", "windows", "wrong", "not counted", "complete"), rows)
    if len(found) > limit:
        cli.say(f"There are more: --limit {10 * limit} lists more of them.")
