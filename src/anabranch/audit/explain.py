"""An audit in words: the verdict first, then the windows that are wrong, why, and what to do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from anabranch.audit.judge import WRONG, Class
from anabranch.audit.verdict import Audit, ClosedBy, Found, Late
from anabranch.errors import counted
from anabranch.reprocess.shown import short_key, short_value
from anabranch.text.format import format_duration, iso_utc

# Rows of the table.
_MOST_SHOWN = 20
_SHORT = 40


@dataclass(frozen=True)
class AuditInWords:
    head: list[str]
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    # Below the table.
    rest: list[str]


def in_words(audit: Audit, *, verdict_last: bool = False) -> AuditInWords:
    rows = [_row(one) for one in audit.found[:_MOST_SHOWN]]
    head, rest = [*_looked_at(audit), ""], list(_rest(audit))
    if verdict_last:
        return AuditInWords(head, _COLUMNS, rows, [*rest, "", verdict_line(audit)])
    return AuditInWords([*head, verdict_line(audit), ""], _COLUMNS, rows, rest)


def _looked_at(audit: Audit) -> Iterator[str]:
    verdict, pins = audit.verdict, audit.pins
    where = "no window is closed" if audit.span is None else f"{_time(audit.span.start_ms)} to {_time(audit.span.end_ms)}"
    closed = "closed" if verdict.windows == 1 else "all closed"
    judged = "" if audit.span is None else f", {counted(verdict.windows, 'window')}, {closed}"
    since = "" if audit.since is None else f", since {audit.since}"
    yield f"{audit.pipeline} against the lake{since}, {where}{judged} (watermark {_short(pins.watermark)})"
    results = (
        f"table version {pins.table_version}"
        if pins.table_version is not None
        else f"{audit.sink} to {' '.join(f'{partition}:{end}' for partition, (_, end) in sorted(pins.results.items()))}"
    )
    batches = f"batches {pins.first_batch} to {pins.last_batch}"
    lake = f"lake version {pins.lake_version} ({_records(audit.balance.in_lake)})"
    yield f"pinned: {lake}, {results}, {batches}, code {pins.code}"


def verdict_line(audit: Audit) -> str:
    verdict = audit.verdict
    if verdict.windows == 0 and audit.since is not None:
        return f"Clean: no window has closed or got records since {audit.since}, and none was wrong."
    if verdict.windows == 0:
        return "Nothing was judged: no window of this range is closed and has a record."
    if verdict.is_clean:
        corrected = verdict.results.get("corrected", 0)
        after = f" ({counted(corrected, 'result')} by correction)" if corrected else ""
        every = "the one window is" if verdict.windows == 1 else f"all {verdict.windows:,} windows are"
        records = "its one record is" if verdict.usable == 1 else f"all {_usable(audit)} are"
        return f"Clean: {every} right{after}; {records} counted."
    wrong = f"{verdict.wrong:,} of {counted(verdict.windows, 'window')} {'is' if verdict.wrong == 1 else 'are'} wrong"
    if not verdict.not_counted:
        return f"{wrong}: {_classes(audit, WRONG)}"
    others = _classes(audit, [name for name in WRONG if name != "late"])
    of = f"{verdict.not_counted:,} of {_usable(audit)} {'is' if verdict.not_counted == 1 else 'are'} not counted"
    return f"{wrong}: {of} ({_percent(verdict.completeness)} complete)" + (f"; {others}" if others else "")


def _classes(audit: Audit, names: Iterable[Class]) -> str:
    found = ((name, audit.verdict.results.get(name, 0)) for name in names)
    return ", ".join(f"{count:,} {name}" for name, count in found if count)


def _usable(audit: Audit) -> str:
    return f"{audit.verdict.usable:,} usable records" if audit.verdict.usable != 1 else "the one usable record"


_COLUMNS = ("window", "key", "in lake", "counted", "late", "result", "should be", "class")


def _row(one: Found) -> tuple[str, ...]:
    numbers = (f"{number:,}" for number in (one.in_lake, one.counted, one.late))
    return (_window(one), _key(one.key), *numbers, _value(one.emitted, one.key), _value(one.should_be, one.key), one.verdict)


def _window(one: Found) -> str:
    return f"{_short(one.start)} to {_short(one.end)}"


def _key(key: str) -> str:
    """Without its window, which stands beside it."""
    return _cut(short_key(key, with_window=False)) or "-"


def _value(value: str | None, key: str) -> str:
    return "none" if value is None else _cut(short_value(value, key))


def _cut(text: str) -> str:
    return text if len(text) <= _SHORT else f"{text[: _SHORT - 3]}..."


def _rest(audit: Audit) -> Iterator[str]:
    if audit.wrong_results > _MOST_SHOWN:
        yield f"and {audit.wrong_results - _MOST_SHOWN:,} more results; --json lists {len(audit.found):,}"
    balance = audit.balance
    if balance.in_lake:
        yield (
            f"balance   {balance.in_lake:,} in the lake = {balance.counted:,} counted + {balance.late:,} late"
            f" + {balance.problems:,} with problems, remainder {balance.remainder}"
        )
    if audit.late is not None:
        yield from _about_late(audit, audit.late)
    verdict = audit.verdict
    if verdict.open:
        yield f"open      {counted(verdict.open, 'window')}: not judged, the stream will still emit them"
    if verdict.unknown:
        oldest = audit.pins.first_batch
        yield f"unknown   {counted(verdict.unknown, 'window')}: not judged, they closed before batch {oldest}, the oldest known"
    for note in audit.notes:
        yield f"note      {note.text}"
    yield from _next(audit)


def _about_late(audit: Audit, late: Late) -> Iterator[str]:
    by = (
        _duration(late.least_ms)
        if late.least_ms == late.most_ms
        else f"{_duration(late.least_ms)} to {_duration(late.most_ms)} (median {_duration(late.median_ms)})"
    )
    common = "".join(
        f"; {one.late:,} of {one.of_late:,} {_has(one.field, one.value)} ({_percent(one.share_of_all)} of all)"
        for one in late.concentrated
    )
    yield f"late      by {by}{common}"
    if late.unread:
        yield f"          {late.unread:,} of them the stream has not read yet: it will drop them"
    if (closing := late.closed_by) is not None:
        yield f"          the watermark passed {closing.window_end} in batch {closing.batch}, moved by {_mover(closing)}"
    repaired = late.count - audit.verdict.not_counted
    if repaired > 0:
        yield f"          {repaired:,} of them {'is' if repaired == 1 else 'are'} counted by a correction"


def _mover(closing: ClosedBy) -> str:
    return "a record that is not known" if closing.record is None else f"{closing.record} (event {closing.event_time})"


def _has(field: str, value: str) -> str:
    return f"from partition {value}" if field == "partition" else f"have {field} {_cut(value)}"


def _next(audit: Audit) -> Iterator[str]:
    wrong = [one for one in audit.found if one.verdict in WRONG]
    if not wrong:
        return
    yield f"next      anabranch explain {audit.pipeline} --window {wrong[0].start}"
    results = audit.verdict.results
    if audit.pins.table_version is None:
        if results.get("late") or results.get("missing"):
            yield f"          anabranch repair {audit.pipeline} --audit {audit.id}"
        if results.get("different"):
            yield f"          anabranch repair {audit.pipeline} --audit {audit.id} --only different   where the lake is right"


def summary_row(audit: Audit) -> tuple[str, ...]:
    verdict = audit.verdict
    numbers = (f"{verdict.windows:,}", f"{verdict.wrong:,}", f"{verdict.not_counted:,}")
    return (audit.id, audit.pipeline, *numbers, _percent(verdict.completeness))


def _records(count: int) -> str:
    return counted(count, "record")


def _time(moment_ms: int) -> str:
    return _short(iso_utc(moment_ms))


def _short(moment: str | None) -> str:
    """Without seconds where there are none."""
    return "none" if moment is None else moment.removesuffix(":00Z") + "Z" if moment.endswith(":00Z") else moment


def _duration(duration_ms: int) -> str:
    return format_duration(duration_ms / 1000)


def _percent(share: float | None) -> str:
    """As many digits as it takes not to show 100 where it is less."""
    if share is None:
        return "?"
    for digits in (0, 1, 2, 3, 4, 6, 8):
        shown = f"{100 * share:.{digits}f}"
        if share in (0.0, 1.0) or (float(shown) not in (0.0, 100.0) and (digits > 0 or share < 0.9)):
            return f"{shown} %"
    return f"{100 * share:.12g} %"
