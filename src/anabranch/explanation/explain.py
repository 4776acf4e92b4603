"""What became of one window, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from anabranch.errors import counted
from anabranch.explanation.report import BatchShare, Emitted, Explanation, KeyResult, PartitionNews, Waits
from anabranch.text.format import format_duration
from anabranch.text.layout import cut, short_duration

# Rows of each table: of more batches the first and the last are shown.
_MOST_SHOWN = 20
_LONGEST = 160
# A shorter silence is none: records do not come at the same moment everywhere.
_SILENT_S = 1.0


@dataclass(frozen=True)
class Rows:
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


def in_words(found: Explanation) -> Iterator[str | Rows]:
    """Lines, and tables between them."""
    yield f"{found.pipeline}, {found.start} to {found.end}: {_state(found)}"
    batches = f"batches {found.first_batch} to {found.last_batch}"
    delay, watermark = format_duration(found.delay_s), found.watermark or "none"
    yield f"pinned: lake version {found.lake_version}, {batches}, watermark {watermark}, delay {delay}"
    if found.key is not None:
        yield f"only records of {cut(found.key, _LONGEST)}"
    yield ""
    yield balance(found)
    if found.batches:
        yield ""
        # Of a key none is known that has a problem.
        columns = len(_BATCHES) - (found.problems is None)
        yield Rows(_BATCHES[:columns], [row[:columns] for row in _batch_rows(found.batches)])
    if found.late_records:
        yield ""
        yield from _late(found)
    yield ""
    if found.closed_by is not None:
        yield from _closed(found)
    if found.waits is not None:
        yield from _waits(found, found.waits)
    yield from _corrected(found)
    yield from (f"note      {note.text}" for note in found.notes)
    if found.result is not None:
        yield ""
        yield _result(found.result)


def _state(found: Explanation) -> str:
    if found.state == "unknown":
        return f"it closed before batch {found.first_batch}, the oldest that is known"
    return found.state


def balance(found: Explanation) -> str:
    if not found.usable and not found.problems:
        return "The lake has no record of this window."
    problems = "" if found.problems is None else f" + {found.problems:,} with problems"
    in_lake = f"{found.usable + (found.problems or 0):,} in the lake"
    if found.counted is None or found.late is None:
        usable = f"{in_lake} = {found.usable:,} usable{problems}"
        return f"{usable}: which of them were late is not known"
    rest = f" + {found.unread:,} not read yet" if found.state == "open" and found.unread else ""
    late = f" + {found.late:,} late" if found.state == "closed" else ""
    return f"{in_lake} = {found.counted:,} counted{late}{rest}{problems}"


_BATCHES = ("batch", "planned", "committed", "counted", "late", "problems")


def _batch_rows(batches: Sequence[BatchShare]) -> Iterator[tuple[str, ...]]:
    between = len(batches) - _MOST_SHOWN
    if between <= 0:
        yield from map(_batch_row, batches)
        return
    half = _MOST_SHOWN // 2
    yield from map(_batch_row, batches[:half])
    yield ("...", f"{between:,} more: --json lists them", "", *_sums(batches[half:-half]))
    yield from map(_batch_row, batches[-half:])


def _batch_row(one: BatchShare) -> tuple[str, ...]:
    return (str(one.batch), one.planned_at or "?", one.committed_at or "?", *_sums([one]))


def _sums(batches: Sequence[BatchShare]) -> Iterator[str]:
    """`?`: not known."""
    for numbers in zip(*((one.counted, one.late, one.problems) for one in batches), strict=True):
        yield "?" if None in numbers else f"{sum(filter(None, numbers)):,}"


_LATE = ("late record", "event time", "arrived", "late by", "counted with", "batch", "watermark")


def _late(found: Explanation) -> Iterator[str | Rows]:
    """`counted with`: with this delay, if all else had been the same."""
    shown = found.late_records[:_MOST_SHOWN]
    yield Rows(
        _LATE,
        [
            (
                *(one.record, one.event_time, one.arrived, format_duration(one.late_by_s)),
                *(f"delay {format_duration(one.needed_delay_s)}", "to come" if one.batch is None else str(one.batch)),
                one.watermark,
            )
            for one in shown
        ],
    )
    if (more := (found.late or 0) - len(shown)) > 0:
        yield f"and {more:,} more late records; --json lists {len(found.late_records):,}"
    if found.unread:
        yield f"{counted(found.unread, 'late record')} the stream has not read yet: it will drop {_them(found.unread)}"


def _them(count: int) -> str:
    return "it" if count == 1 else "them"


def _closed(found: Explanation) -> Iterator[str]:
    closing = found.closed_by
    assert closing is not None
    by = "a record that is not known" if closing.record is None else f"{closing.record} (event {closing.event_time})"
    when = "" if found.closed_at is None else f" of {found.closed_at}"
    yield f"closed    by batch {closing.batch}{when}, which ran with the watermark {closing.watermark}, moved by {by}"
    if found.earlier:
        yield f"          {_earlier(found)}: counted"


def _earlier(found: Explanation) -> str:
    return f"{counted(found.earlier, 'record')} came in batches before {found.first_batch}, of which no more is known"


def _waits(found: Explanation, waits: Waits) -> Iterator[str | Rows]:
    then = "emits its result" if found.output_mode == "append" else "closes it; until then its result may change"
    if waits.is_due:
        yield f"closes    a record of {waits.event_time} or later has been read: the next batch {then}"
    else:
        yield f"waits for a usable record of {waits.event_time} or later, in any partition: the batch behind it {then}"
    if waits.unread_in:
        where = ", ".join(map(str, waits.unread_in[:_MOST_SHOWN]))
        yield f"          the lake has one in partition {where}, which the stream has yet to read"
    behind = [one for one in waits.partitions if one.is_behind]
    shown = [*behind, *(one for one in waits.partitions if not one.is_behind)][:_MOST_SHOWN]
    yield ""
    yield Rows(_PARTITIONS, [_partition(one) for one in sorted(shown, key=lambda one: one.partition)])
    if (more := len(waits.partitions) - len(shown)) > 0:
        yield f"and {counted(more, 'more partition')}; --json lists all"
    yield ""
    yield from _behind(found, waits, behind)


_PARTITIONS = ("partition", "newest event", "newest arrival", "silent for")


def _partition(one: PartitionNews) -> tuple[str, ...]:
    """`silent for`: up to the newest arrival of all partitions."""
    silent = "?" if one.silent_s is None else short_duration(one.silent_s)
    return (str(one.partition), one.newest_event or "none", one.newest_arrival or "none", silent)


def _behind(found: Explanation, waits: Waits, behind: Sequence[PartitionNews]) -> Iterator[str]:
    if not behind:
        return
    if len(behind) == len(waits.partitions):
        yield f"behind    no partition has an event of {found.end} or later yet"
    else:
        one, more = behind[0].partition, counted(len(behind) - 1, "more partition")
        which = f"{one} and {more} have" if len(behind) > 1 else f"{one} has"
        yield f"behind    partition {which} no event of {found.end} or later: records of this window may still come from there"
        yield "          the window does not wait for that: the watermark follows the greatest event time of all partitions"
    longest = max(behind, key=lambda one: one.silent_s or 0)
    if longest.silent_s is not None and longest.silent_s >= _SILENT_S:
        before = f"{short_duration(longest.silent_s)} before the newest record of all"
        yield f"silent    partition {longest.partition} since {longest.newest_arrival}, {before}"


def _result(result: KeyResult) -> Rows:
    """What the pipeline's function gives today, and what the topic holds."""
    computed = [("should be", "", "all usable records", _value(result.should_be))]
    if result.counted != result.should_be:
        computed.append(("counted", "", "those that were not late", _value(result.counted)))
    return Rows(_RESULTS, [*computed, *map(_emitted, result.emitted)])


_RESULTS = ("result", "at", "from", "value")


def _emitted(one: Emitted) -> tuple[str, ...]:
    by = one.operation or (f"batch {one.batch}" if one.batch else one.origin or "?")
    return (one.record, one.at, by, _value(one.value))


def _value(value: str | None) -> str:
    return "none" if value is None else cut(value, _LONGEST)


def _corrected(found: Explanation) -> Iterator[str]:
    for one in found.corrections[-_MOST_SHOWN:]:
        yield f"corrected by {one.operation}, begun {one.begun_at}, {one.state}"
    if found.since_correction:
        came = counted(found.since_correction, "record")
        yield f"          {came} came after the last of them had read the lake: not in its results"
