"""Streams that hypothesis draws: what came, how it was cut into batches, what crashed, was taken back and was corrected.

What a drawn stream did is told to the oracle in its own words (tests/audit/oracle.py), and to anabranch as it would find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

from anabranch.audit.ranges import covering
from anabranch.audit.windows import Correction
from anabranch.checkpoint.timeline import TimelineBatch
from anabranch.delta.stored import CHECK_MODULUS, BinCount
from anabranch.pipeline.windows import Windows
from tests.audit.oracle import Told

PARTITIONS = (0, 1, 2)
# Far from the epoch, where no watermark is below 0.
BEGIN_MS = 240
# Partition -> what.
Offsets = dict[int, int]


@dataclass(frozen=True)
class Record:
    event_ms: int | None
    is_usable: bool


@dataclass(frozen=True)
class Ran:
    """A batch as its entry in the log has it."""

    run: int
    batch: int
    watermark_ms: int
    ranges: Mapping[int, tuple[int, int]]


@dataclass
class Stream:
    """A query on records that are there from the beginning: it does what it is told, and keeps a diary."""

    windows: Windows
    delay_ms: int
    records: dict[int, list[Record]]
    begins: Offsets
    runs: list[tuple[int, int, int, bool, bool]] = field(default_factory=list)
    reads: list[tuple[int, int, int, int]] = field(default_factory=list)
    rewinds: list[tuple[int, int]] = field(default_factory=list)
    corrections: list[tuple[str, int, int, int, int]] = field(default_factory=list)
    known: dict[str, Offsets] = field(default_factory=dict)
    found: list[tuple[int, int, int | None, str | None]] = field(default_factory=list)
    # Those that stand, oldest first.
    committed: list[Ran] = field(default_factory=list)
    # Behind the last record of the lake.
    lake_ends: Offsets = field(default_factory=dict)

    @property
    def positions(self) -> Offsets:
        """Partition -> the next offset; a partition that came later is not there before."""
        return {p: end for one in self.committed for p, (_, end) in one.ranges.items()}

    @property
    def watermark_ms(self) -> int:
        """Of the next batch."""
        times = [r.event_ms for one in self.committed for r in self._read_by(one) if r.is_usable and r.event_ms is not None]
        return max(0, max(times, default=0) - self.delay_ms)

    def _read_by(self, one: Ran) -> list[Record]:
        return [record for p, (first, end) in one.ranges.items() for record in self.records[p][first:end]]

    def plan(self, counts: Mapping[int, int]) -> Ran:
        """The next batch, with as many records of each partition that is there as it may take."""
        positions = {**self.begins, **self.positions}
        present = sorted(counts.keys() | self.positions.keys())
        begins = {p: positions.get(p, 0) for p in present}
        ranges = {p: (first, min(first + counts.get(p, 0), len(self.records[p]))) for p, first in begins.items()}
        return Ran(len(self.runs), len(self.committed), self.watermark_ms, ranges)

    def run(self, one: Ran, *, is_committed: bool = True, has_written: bool = True) -> None:
        run = len(self.runs)
        self.runs.append((run, one.batch, one.watermark_ms, is_committed, has_written))
        self.reads.extend((run, p, first, end) for p, (first, end) in one.ranges.items())
        if is_committed:
            self.committed = [*self.committed[: one.batch], Ran(run, one.batch, one.watermark_ms, one.ranges)]
        for p, (_, end) in one.ranges.items():
            self.lake_ends[p] = max(self.lake_ends.get(p, 0), end)

    def rewind(self, batch: int) -> None:
        self.rewinds.append((len(self.runs) - 1, batch))
        self.committed = self.committed[:batch]

    def correct(self, first: int, count: int, ahead: Mapping[int, int]) -> None:
        """So many closed windows, by the lake as it is: that may be ahead of the stream."""
        length, slide = self.windows.length_ms, self.windows.slide_ms
        closed_ms = self.committed[-1].watermark_ms if self.committed else 0
        starts = [start for start in range(0, closed_ms, slide) if BEGIN_MS - length < start <= closed_ms - length]
        chosen = starts[first : first + count]
        for p, more in ahead.items():
            self.lake_ends[p] = min(len(self.records[p]), self.lake_ends.get(p, 0) + more)
        if chosen:
            operation = f"op{len(self.corrections)}"
            self.corrections.append((operation, len(self.runs) - 1, 1 + len(self.corrections), chosen[0], chosen[-1] + slide))
            self.known[operation] = dict(self.lake_ends)

    # How anabranch finds it.

    @property
    def first_of(self) -> Offsets:
        return {p: self.begins.get(p, 0) for p in PARTITIONS}

    def in_lake(self, ends: Mapping[int, int] | None = None) -> list[tuple[int, int, Record]]:
        """Partition, offset and record, in this order; of those that the stream was to read."""
        ends = self.lake_ends if ends is None else ends
        return [(p, offset, self.records[p][offset]) for p in PARTITIONS for offset in range(self.first_of[p], ends.get(p, 0))]

    def batches(self) -> list[TimelineBatch]:
        """The newest first."""
        return [TimelineBatch(one.batch, one.watermark_ms, one.ranges) for one in reversed(self.committed)]

    def newest_events(self) -> dict[int, int]:
        """Batch -> the greatest event time that it has read."""
        found = {one.batch: [r.event_ms for r in self._read_by(one) if r.is_usable and r.event_ms] for one in self.committed}
        return {batch: max(times) for batch, times in found.items() if times}

    def bins(self) -> list[BinCount]:
        groups: dict[tuple[int | None, int], list[tuple[int, Record]]] = {}
        for p, offset, record in self.in_lake():
            number = None if record.event_ms is None else record.event_ms // self.windows.bin_ms
            groups.setdefault((number, p), []).append((offset, record))
        return [_bin(number, p, rows) for (number, p), rows in groups.items()]

    def corrected(self) -> list[Correction]:
        """The oldest first."""
        return [
            Correction(operation, covering(self.starts(from_ms, to_ms), self.windows.slide_ms), self.cutoffs(operation))
            for operation, _, _, from_ms, to_ms in self.corrections
        ]

    def starts(self, from_ms: int, to_ms: int) -> list[int]:
        return list(range(from_ms, to_ms, self.windows.slide_ms))

    def last_known(self, operation: str) -> dict[int, tuple[int, int]]:
        """Of the usable records in the windows of an operation: partition -> how many it knew, and the offset of the last."""
        ((from_ms, to_ms),) = [(start, end) for name, _, _, start, end in self.corrections if name == operation]
        until_ms = to_ms - self.windows.slide_ms + self.windows.length_ms
        found: dict[int, tuple[int, int]] = {}
        for p, offset, record in self.in_lake(self.known[operation]):
            if record.is_usable and record.event_ms is not None and from_ms <= record.event_ms < until_ms:
                found[p] = (found.get(p, (0, 0))[0] + 1, offset)
        return found

    def cutoffs(self, operation: str) -> Offsets:
        return {p: last + 1 for p, (_, last) in self.last_known(operation).items()}

    def told(self) -> Told:
        ledger = [
            (p, offset, record.event_ms, record.is_usable)
            for p, records in self.records.items()
            for offset, record in enumerate(records)
        ]
        return Told(
            self.windows.length_ms,
            self.windows.slide_ms,
            self.delay_ms,
            ledger=ledger,
            runs=self.runs,
            reads=self.reads,
            lake=[(p, self.first_of[p], self.lake_ends.get(p, 0)) for p in PARTITIONS],
            rewinds=self.rewinds,
            corrections=self.corrections,
            known=[(operation, p, end) for operation, ends in self.known.items() for p, end in ends.items()],
            found=self.found,
        )


def _bin(number: int | None, partition: int, rows: list[tuple[int, Record]]) -> BinCount:
    usable = [(offset, (record.event_ms or 0) * 1000 % CHECK_MODULUS) for offset, record in rows if record.is_usable]
    last = max((offset for offset, _ in usable), default=None)
    check = sum(time for _, time in usable) if usable else None
    return BinCount(number, partition, len(usable), len(rows) - len(usable), last, check)


def _records(pace: int, least: int) -> st.SearchStrategy[list[Record]]:
    """In no order: some are late, some come early, from a clock that is ahead, and some have a problem, with a time or not."""
    disorder = st.one_of(st.integers(-6, 6), st.integers(-40, 0), st.integers(-40, 60))
    kind = st.sampled_from(["usable"] * 8 + ["bad", "bad, with a time"])
    drawn = st.lists(st.tuples(disorder, kind), min_size=least, max_size=20)
    return drawn.map(lambda ones: [_record(BEGIN_MS + n * pace + off, kind) for n, (off, kind) in enumerate(ones)])


def _record(event_ms: int, kind: str) -> Record:
    return Record(None if kind == "bad" else event_ms, kind == "usable")


_COUNTS = st.fixed_dictionaries({0: st.sampled_from([2, 3, 0, 1, 4]), 1: st.sampled_from([1, 2, 0, 3, 4])})
_FATES = st.sampled_from(["well", "well", "well", "again", "replanned"])
_EVENTS = st.sampled_from(["corrected", "corrected", "replayed", "replanned", "quiet"])


@st.composite
def streams(draw: st.DrawFn) -> Stream:
    length, pace = draw(st.integers(2, 12)), draw(st.integers(3, 9))
    windows = Windows(length, draw(st.sampled_from([length, draw(st.integers(1, length))])))
    records = {p: draw(_records(pace, least)) for p, least in zip(PARTITIONS, (10, 6, 0), strict=True)}
    begins = {p: draw(st.integers(0, 2)) for p in (0, 1)}
    stream = Stream(windows, draw(st.integers(0, 12)), records, begins)
    comes_later = draw(st.integers(0, 6))
    for happens in ["quiet", *draw(st.lists(_EVENTS, min_size=1, max_size=3))]:
        if happens == "corrected":
            ahead = draw(st.sampled_from([{}, draw(_COUNTS)]))
            stream.correct(draw(st.sampled_from([0, 0, 1, 3])), draw(st.sampled_from([20, 4, 1])), ahead)
        elif happens != "quiet" and stream.committed:
            _rewind(stream, draw(st.sampled_from(stream.committed[::-1])), happens)
        for fate in draw(st.lists(_FATES, min_size=2, max_size=5)):
            counts = draw(_COUNTS) | ({2: draw(st.integers(0, 3))} if len(stream.runs) >= comes_later else {})
            _run(stream, counts, fate, has_written=draw(st.booleans()))
    if not stream.committed:
        stream.run(stream.plan({0: 1, 1: 1}))
    _end(stream, draw)
    return stream


def _rewind(stream: Stream, to: Ran, mode: str) -> None:
    """Its first batch runs again as it was, or is planned anew."""
    stream.rewind(to.batch)
    if mode == "replayed":
        stream.run(to)


def _run(stream: Stream, counts: Mapping[int, int], how: str, *, has_written: bool) -> None:
    """A batch that was killed runs again as it was planned, unless it is taken back."""
    one = stream.plan(counts)
    if how != "well":
        stream.run(one, is_committed=False, has_written=has_written)
    if how == "replanned":
        stream.rewind(one.batch)
    else:
        stream.run(one)


def _end(stream: Stream, draw: st.DrawFn) -> None:
    """The lake has more than was read, or less: but what operations have known, and the first batch."""
    if draw(st.booleans()):
        stream.run(stream.plan(draw(_COUNTS)), is_committed=False, has_written=draw(st.booleans()))
    # Seldom less than the stream has read, but always its first batch.
    read = {p: end for p, (_, end) in stream.committed[draw(st.sampled_from([-1, -1, -1, 0]))].ranges.items()}
    needed = [*stream.known.values(), read, stream.begins]
    for p in PARTITIONS:
        least = max(ends.get(p, 0) for ends in needed)
        stream.lake_ends[p] = draw(st.integers(least, len(stream.records[p])))
    slide = stream.windows.slide_ms
    first = BEGIN_MS // slide
    spoilt = draw(st.dictionaries(st.integers(0, 9), st.one_of(st.none(), st.integers(1, 4)), max_size=2))
    stream.found = [(place, (first + number) * slide, value, None) for place, (number, value) in enumerate(spoilt.items())]
