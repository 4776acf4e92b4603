"""anabranch status: how the pipelines are doing. No JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.output import FOUND, AsJson, cli_of, write_json, write_lines
from anabranch.cli.screen import Screen, fit_table, screen, write_remedies, write_wrapped
from anabranch.text.layout import Column, figure, short_duration

if TYPE_CHECKING:
    from anabranch.audit.verdict import Audit
    from anabranch.streaming.status import PipelineStatus

_COLUMNS = (
    Column("pipeline", 12, keeps_end=True),
    *(Column("state"), Column("batch"), Column("age"), Column("rows/s"), Column("lag")),
    # The date at least.
    *(Column("watermark", 11), Column("late"), Column("problems")),
)
_MINUTES = len("2025-09-04T07:00")


def status(
    context: typer.Context,
    every: Annotated[bool, typer.Option("--all", help="Also pipelines that have never run.")] = False,
    as_json: AsJson = False,
) -> None:
    """Of each pipeline that ran: state, last batch, rate, lag, watermark, late and bad records.

    Exits with 4 if one that does not run cannot start, each with the remedy.

    Example: anabranch status --json
    """
    from anabranch.audit.explain import verdict_line
    from anabranch.audit.store import newest_audit
    from anabranch.streaming.messages import NOTHING_HAS_RUN
    from anabranch.streaming.status import status_of

    cli = cli_of(context)
    project = cli.project_as_read()
    found = status_of(project, every=every)
    audits = {(one.name, one.sink): newest_audit(project, one.name, one.sink, cli.tell) for one in found.pipelines}
    if as_json:
        pipelines = [
            {**one, "last_audit": _audit_json(audits[one["name"], one["sink"]])} for one in found.as_json()["pipelines"]
        ]
        write_json({**found.as_json(), "pipelines": pipelines})
    elif found.pipelines:
        on = screen()
        write_lines(fit_table(_COLUMNS, [_row(one) for one in found.pipelines], on).lines)
        for one in found.pipelines:
            _write_details(one, on)
            if (audit := audits[one.name, one.sink]) is not None:
                write_wrapped(f"{_name(one)}: audit of {audit.at[:_MINUTES]}Z: {verdict_line(audit)}", on)
    else:
        first = next((one.name for one in project.catalog.pipelines if not one.takes_problems), "PIPELINE")
        nothing = NOTHING_HAS_RUN(pipeline=first)
        cli.say_all((f"{nothing.text}.", *(f"  -> {remedy}" for remedy in nothing.remedies)))
    if not as_json:
        cli.say(f"kafka: {found.kafka}")
    raise typer.Exit(0 if found.is_sound else FOUND)


def _audit_json(audit: Audit | None) -> dict[str, Any] | None:
    if audit is None:
        return None
    verdict = audit.as_json()["verdict"]
    return {
        "id": audit.id,
        "at": audit.at,
        **{name: verdict[name] for name in ("windows", "wrong", "not_counted", "completeness")},
    }


def _row(one: PipelineStatus) -> tuple[str, ...]:
    if one.state == "never ran":
        return (_name(one), one.state, *["-"] * 7)
    unknown = "-" if one.last_batch is None and one.operation is None and not one.refusals else "?"
    exact = one.exact is not False
    return (
        _name(one),
        one.state,
        unknown if one.last_batch is None else str(one.last_batch),
        unknown if one.age_s is None else short_duration(one.age_s),
        "?" if one.rows_per_s is None else f"{one.rows_per_s:,.{1 if 0 < one.rows_per_s < 10 else 0}f}",
        _lag(one),
        one.watermark[:_MINUTES].replace("T", " ") if one.watermark else unknown if one.has_watermark else "-",
        figure(one.late, at_least=one.is_partial or bool(one.late_from), exact=exact) if one.has_watermark else "-",
        figure(one.problems, at_least=one.is_partial, exact=exact),
    )


def _name(one: PipelineStatus) -> str:
    return one.name if one.is_own_sink else f"{one.name} ({one.sink})"


def _lag(one: PipelineStatus) -> str:
    """Records, and how long the oldest of them has been waiting."""
    if one.lag is None:
        return "?"
    records = sum(sum(partitions.values()) for partitions in one.lag.values())
    if records == 0:
        return "0"
    return f"{records:,} ({'?' if one.lag_s is None else short_duration(one.lag_s)})"


def _write_details(one: PipelineStatus, on: Screen) -> None:
    """What has no place in the table: who holds it, what to mind, and why it cannot start."""
    if one.running is not None:
        write_wrapped(f"{_name(one)}: {one.running}", on)
    if one.operation is not None:
        write_wrapped(f"{_name(one)}: {one.operation} is not finished", on)
    for note in one.notes:
        write_wrapped(f"{_name(one)}: {note.text}", on)
    for reason in one.refusals:
        write_wrapped(f"{_name(one)} [{reason.code}]: {reason.text}", on)
        write_remedies(reason.remedies)
