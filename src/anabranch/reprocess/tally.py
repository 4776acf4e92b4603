"""What a plan says of its results, counted one by one: of millions it names the first by key. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from anabranch.reprocess.plan import Change, Compared, Unexpected

# A plan names no more: whoever wants all reads the file beside it.
MOST_NAMED = 1000

N = TypeVar("N")


@dataclass
class First(Generic[N]):
    """The first of what is added, by an order of it; sorted now and then."""

    by: Callable[[N], Any]
    _kept: list[N] = field(default_factory=list)

    def add(self, one: N) -> None:
        self._kept.append(one)
        if len(self._kept) >= 2 * MOST_NAMED:
            self._kept = self.named

    @property
    def named(self) -> list[N]:
        return sorted(self._kept, key=self.by)[:MOST_NAMED]


def _key(one: Change | Unexpected) -> str:
    return one.key


@dataclass
class Tally:
    results: int = 0
    changed: int = 0
    unexpected_results: int = 0
    _changed: First[Change] = field(default_factory=lambda: First(_key))
    _same: First[Change] = field(default_factory=lambda: First(_key))
    _unexpected: First[Unexpected] = field(default_factory=lambda: First(_key))

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
