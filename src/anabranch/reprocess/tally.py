"""What a plan says of its results, counted one by one: of millions it names the first by key. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from anabranch.reprocess.plan import Change, Compared, Unexpected

# A plan names no more: whoever wants all reads the file beside it.
MOST_NAMED = 1000

N = TypeVar("N", Change, Unexpected)


@dataclass
class _First(Generic[N]):
    """The first by key of what is added, sorted now and then."""

    _kept: list[N] = field(default_factory=list)

    def add(self, one: N) -> None:
        self._kept.append(one)
        if len(self._kept) >= 2 * MOST_NAMED:
            self._kept = self.named

    @property
    def named(self) -> list[N]:
        return sorted(self._kept, key=lambda one: one.key)[:MOST_NAMED]


@dataclass
class Tally:
    results: int = 0
    changed: int = 0
    unexpected_results: int = 0
    _changed: _First[Change] = field(default_factory=_First)
    _same: _First[Change] = field(default_factory=_First)
    _unexpected: _First[Unexpected] = field(default_factory=_First)

    def take(self, one: Compared) -> Change | None:
        """The result to be sent for this key, if any."""
        if one.should_be is None:
            if one.emitted is not None:
                self.unexpected_results += 1
                self._unexpected.add(Unexpected(one.key, one.emitted))
            return None
        change = Change(one.key, one.emitted, one.should_be)
        self.results += 1
        self.changed += change.before != change.after
        (self._same if change.before == change.after else self._changed).add(change)
        return change

    @property
    def changes(self) -> tuple[Change, ...]:
        """Those that change something before those that do not, all by key."""
        return tuple(sorted([*self._changed.named, *self._same.named][:MOST_NAMED], key=lambda one: one.key))

    @property
    def unexpected(self) -> tuple[Unexpected, ...]:
        return tuple(self._unexpected.named)
