"""The delays that records needed, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.errors import counted
from anabranch.lateness.curve import ALL, TODAY, DelayRow
from anabranch.lateness.report import Lateness
from anabranch.text.format import format_duration

TITLES = ("delay", "", "records late", "of all", "windows wrong", "windows close")


def headline(found: Lateness) -> str:
    return f"{found.pipeline}, {looked_at(found)}"


def looked_at(found: Lateness) -> str:
    batches = f"batches {found.first_batch:,} to {found.last_batch:,}"
    records = f"{_records(found)} in {counted(found.windows, 'window')}"
    return f"{times_of(found)}: {records}, by {batches} and version {found.lake_version} of the lake"


def times_of(found: Lateness) -> str:
    if found.start is None and found.end is None:
        return "all times"
    return " ".join(f"{word} {time}" for word, time in (("from", found.start), ("to", found.end)) if time is not None)


def cells(found: Lateness) -> list[tuple[str, ...]]:
    """A row of text for each delay."""
    return [
        (
            format_duration(row.delay_s),
            ", ".join(row.marks),
            f"{row.late:,}",
            share(row.late, found.records),
            f"{row.windows_wrong:,}",
            _later(row.later_s),
        )
        for row in found.delays
    ]


def share(part: int, whole: int) -> str:
    """With two digits that say something; what is not all is never shown as all, nor what is not nothing as nothing."""
    if part == 0 or whole == 0:
        return "0 %"
    percent, digits = 100 * part / whole, 0
    while percent < 10 ** (1 - digits) or (part < whole and float(f"{percent:.{digits}f}") == 100):
        digits += 1
    shown = f"{percent:.{digits}f}"
    return f"{shown.rstrip('0').rstrip('.') if digits else shown} %"


def advice(found: Lateness) -> str:
    """What follows, and no more than follows."""
    if not found.records:
        return "These batches have read no usable record of these times: nothing can be said of a delay."
    rows = {mark: row for row in found.delays for mark in row.marks}
    today, every = rows[TODAY], rows[ALL]
    said = f"Over these {_records(found)}; another day may differ."
    whole = format_duration(every.delay_s)
    if every.delay_s > today.delay_s:
        most = [row for row in found.delays if row.marks and today.delay_s < row.delay_s < every.delay_s]
        less = "".join(f"; for {row.marks[-1]} {format_duration(row.delay_s)} would have been enough" for row in most)
        return f"A delay of {whole} would have counted all of them and closed windows {_later(every.later_s)}{less}. {said}"
    if every.delay_s == today.delay_s:
        return f"Today's delay counted all of them, and no shorter one would have. {said}"
    if every.delay_s == 0:
        return f"No delay was needed: all of them came before a later one would have closed their windows. {said}"
    return f"Today's delay counted all of them; {whole} would have too, and closed windows {_later(every.later_s)}. {said}"


def notes(found: Lateness) -> Iterator[str]:
    """What is not in the figures, and what they rest on."""
    if found.output_mode == "update":
        yield "Results are emitted as they change, whatever the delay: it decides how long they may change, and what is kept."
    if found.left_out:
        read = counted(found.left_out, "more record")
        yield f"{read} of these times came before batch {found.first_batch:,}: of that time too little is known."
    if found.behind:
        behind = counted(found.behind, "batch", "batches")
        yield f"The lake is {behind} behind the stream: what these read is not in the figures."
    if found.basis == "watermarks":
        yield "The newest event of some batches is not known: told from their watermarks, as if the delay was never another."
    if found.dropped != _today(found).late:
        yield f"Really dropped were {found.dropped:,}: the watermarks of some batches are not those that today's delay makes."


def _today(found: Lateness) -> DelayRow:
    return next(row for row in found.delays if TODAY in row.marks)


def _records(found: Lateness) -> str:
    return counted(found.records, "record")


def _later(later_s: float) -> str:
    if later_s == 0:
        return "as today"
    return f"{format_duration(abs(later_s))} {'later' if later_s > 0 else 'earlier'}"
