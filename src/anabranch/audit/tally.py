"""What the results of an audit say, counted one by one: of millions it names the first. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from anabranch.audit.judge import WRONG, Class, judge
from anabranch.audit.verdict import Found
from anabranch.audit.windows import WindowCount
from anabranch.pipeline.windows import Windows
from anabranch.reprocess.plan import Compared
from anabranch.reprocess.tally import First
from anabranch.text.format import iso_utc


@dataclass
class Tally:
    windows: Windows
    counts: Mapping[int, WindowCount]
    # The windows that have late records, and those that have records which came after a correction.
    late: Collection[int]
    outdated: Collection[int]
    tolerance: float = 0.0
    results: Counter[Class] = field(default_factory=Counter)
    # Window -> the classes of its results.
    classes: dict[int, set[Class]] = field(default_factory=dict)
    # Those of them with a late one that no operation has sent: it lacks all late records.
    late_of_stream: set[int] = field(default_factory=set)
    _named: First[Found] = field(default_factory=lambda: First(lambda one: (one.start, one.key)))

    def take_equal(self, start_ms: int, results: int, *, is_corrected: bool) -> None:
        """Results of one window that are right."""
        self._add(start_ms, "corrected" if is_corrected else "equal", results)

    def take(self, one: Compared, *, every: bool = False) -> Found | None:
        """What is to be written down of a result: of one that is wrong, or of each."""
        # Where no record was late, or came after a correction, all of the window's were counted.
        counted = one.counted if one.start_ms in self.late else one.should_be
        known = one.known if one.start_ms in self.outdated else one.should_be
        kind = judge(replace(one, counted=counted, known=known), self.tolerance)
        self._add(one.start_ms, kind, 1)
        if kind == "late" and one.operation is None:
            self.late_of_stream.add(one.start_ms)
        if kind not in WRONG and not every:
            return None
        found = self._found(one, kind)
        self._named.add(found)
        return found

    @property
    def named(self) -> list[Found]:
        return self._named.named

    @property
    def wrong(self) -> set[int]:
        return {start for start, kinds in self.classes.items() if not kinds.isdisjoint(WRONG)}

    @property
    def wrong_by_late(self) -> list[int]:
        return sorted(start for start, kinds in self.classes.items() if "late" in kinds)

    def _add(self, start_ms: int, kind: Class, results: int) -> None:
        self.results[kind] += results
        self.classes.setdefault(start_ms, set()).add(kind)

    def _found(self, one: Compared, kind: Class) -> Found:
        count = self.counts.get(one.start_ms, WindowCount())
        return Found(
            start=iso_utc(one.start_ms),
            end=iso_utc(one.start_ms + self.windows.length_ms),
            key=one.key,
            in_lake=count.usable + count.problems,
            counted=count.counted,
            late=count.late,
            problems=count.problems,
            emitted=one.emitted,
            should_be=one.should_be,
            verdict=kind,
            operation=one.operation,
        )
