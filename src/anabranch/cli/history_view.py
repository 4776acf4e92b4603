"""The batches of a period on a screen: a picture, a table, totals."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from anabranch.checkpoint.figures import moment_s
from anabranch.checkpoint.history import BatchRecord
from anabranch.checkpoint.messages import FIGURES_LOST
from anabranch.cli.checkpoint_view import NEWEST
from anabranch.cli.output import write_line, write_lines
from anabranch.cli.screen import Screen, fit_table, screen, write_wrapped
from anabranch.errors import counted
from anabranch.streaming.batch_list import BatchList, Line, Lost, Operated, Ran
from anabranch.text.chart import axis, bars, slice_length_s, slices
from anabranch.text.format import format_duration
from anabranch.text.layout import Column, cut, figure

_COLUMNS = (
    *(Column("batch"), Column("time"), Column("rows"), Column("late"), Column("problems"), Column("duration")),
    # The date at least.
    Column("watermark", 11),
)
_LABEL = "rows  "
_DATE, _MINUTES, _SECONDS = (len(text) for text in ("2025-09-04", "2025-09-04T07:00", "2025-09-04T07:00:00"))
_YEAR, _DAY = len("2025-"), len("2025-09-04T")


def write_history(found: BatchList, last: str, *, every: bool) -> None:
    """`last`: the period, as it was asked for."""
    on = screen()
    write_wrapped(f"{found.name} ({found.sink}), {_span(found)}", on)
    if found.totals.batches:
        _write_picture(found, on)
    if found.lines:
        _write_lines(found, on, every=every)
        write_line("")
    _write_totals(found, last, on)


def _span(found: BatchList) -> str:
    return f"{found.since[:_SECONDS]}Z to {found.until[:_SECONDS]}Z"


def _is_one_day(found: BatchList) -> bool:
    return found.since[:_DATE] == found.until[:_DATE]


def _write_picture(found: BatchList, on: Screen) -> None:
    """Rows in each slice of time, and late records below them where there are any."""
    start_s, end_s = moment_s(found.since) or 0.0, moment_s(found.until) or 0.0
    period_s = max(1.0, end_s - start_s)
    length_s = slice_length_s(period_s, on.width - len(_LABEL))
    count = math.ceil(period_s / length_s)
    begin = _YEAR if not _is_one_day(found) else _DAY
    first, last = (text[begin:_MINUTES].replace("T", " ") for text in (found.since, found.until))
    write_line("")
    for label, figures in _figures(found, start_s):
        sums = slices(figures, start_s, length_s, count)
        if label == "rows" or any(one != 0 for one in sums):
            write_line(f"{label:<{len(_LABEL)}}{bars(sums, on.bars)}".rstrip())
            highest = max((one for one in sums if one is not None), default=0)
            write_line(f"{'':<{len(_LABEL)}}at most {highest:,} in {format_duration(length_s)}")
    write_line(cut(f"{'':<{len(_LABEL)}}{axis(first, last, count)}", on.width, on.ellipsis))
    write_line("")


def _figures(found: BatchList, start_s: float) -> Iterator[tuple[str, list[tuple[float, int | None]]]]:
    moments: list[tuple[float, BatchRecord | None]] = []
    at_s = start_s
    for line in found.lines:
        if isinstance(line, Ran):
            at_s = moment_s(line.record.at) or at_s
        if not isinstance(line, Operated):
            moments.append((at_s, line.record if isinstance(line, Ran) else None))
    yield "rows", [(at_s, record.records if record else None) for at_s, record in moments]
    if found.has_watermark:
        yield "late", [(at_s, record.late if record else None) for at_s, record in moments]


def _write_lines(found: BatchList, on: Screen, *, every: bool) -> None:
    shown = found.lines if every else found.lines[-NEWEST:]
    ran = [line for line in shown if isinstance(line, Ran)]
    table = fit_table(_COLUMNS, [_row(line.record, found) for line in ran], on)
    rows = iter(table.rows)
    write_lines(table.head if ran else ())
    for line in shown:
        if isinstance(line, Ran):
            write_lines(next(rows))
        else:
            write_wrapped(_said(line), on)
    older: Sequence[Line] = found.lines[: len(found.lines) - len(shown)]
    if older:
        write_line(f"... and {sum(isinstance(line, Ran) for line in older):,} older: --all lists them.")


def _row(record: BatchRecord, found: BatchList) -> tuple[str, ...]:
    begin = _YEAR if not _is_one_day(found) else _DAY
    exact = record.is_exact
    return (
        str(record.batch),
        record.at[begin:_SECONDS].replace("T", " "),
        figure(record.records, exact=exact),
        figure(record.late, exact=exact) if found.has_watermark else "-",
        figure(record.problems, exact=exact),
        _duration(record.duration_ms),
        _watermark(record),
    )


def _watermark(record: BatchRecord) -> str:
    """1970 is Spark's before the first event."""
    is_set = record.watermark is not None and moment_s(record.watermark) != 0
    return (record.watermark or "")[:_MINUTES].replace("T", " ") if is_set else "-"


def _duration(duration_ms: int | None) -> str:
    if duration_ms is None:
        return "?"
    return f"{duration_ms}ms" if duration_ms < 1000 else f"{duration_ms / 1000:,.1f}s"


def _said(line: Lost | Operated) -> str:
    if isinstance(line, Lost):
        which = f"batch {line.first}" if line.first == line.last else f"batches {line.first} to {line.last}"
        return f"?  {which}: the figures were lost"
    if line.undoes is not None:
        return f"<- {line.operation} took {line.undoes} back: batch {line.next_batch} is next"
    return f"<- {line.operation}: batches from {line.next_batch} on were taken back"


def _write_totals(found: BatchList, last: str, on: Screen) -> None:
    totals = found.totals
    if not totals.batches:
        newest = f"; the newest, {found.newest.batch}, is of {found.newest.at}" if found.newest else ""
        write_wrapped(f"No batch in the last {last}{newest}.", on)
    else:
        partial, exact = totals.uncounted_batches > 0, totals.exact
        rows = figure(totals.records, at_least=partial, exact=exact)
        late = figure(totals.late, at_least=partial or totals.late_uncounted_batches > 0, exact=exact)
        problems = figure(totals.problems, at_least=partial, exact=exact)
        parts = [f"{rows} rows", *([f"{late} late"] if found.has_watermark else []), f"{problems} with problems"]
        write_wrapped(f"{counted(totals.batches, 'batch', 'batches')}: {', '.join(parts)}.", on)
    if totals.uncounted_batches:
        write_wrapped(f"{FIGURES_LOST(batches=totals.uncounted_batches).text}.", on)
    if found.torn_lines:
        write_wrapped(f"Lines of the history that a crash has torn: {found.torn_lines:,}.", on)
    for jump in found.jumps:
        write_wrapped(f"{jump.text}.", on)
