"""What a batch of visits-sessions writes to its checkpoint, beside what the visits that it touches need."""

from __future__ import annotations

from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.cases.open_visits import measured_before
from benchmarks.open_visits import SIZES, needed_bytes

_KB = 1_000
# Times what is needed: the change itself, its part of the merges, and RocksDB's snapshots.
_MOST = 5


def _figure(size: int) -> str:
    return f"{size:,} open, {needed_bytes(size) / _KB:,.0f} kB needed"


def _ours(place: Place) -> Figures:
    return {_figure(int(size)): written / _KB for size, (_, written) in measured_before(place).items()}


CASE = Case(
    name="open_visits_bytes",
    summary="visits-sessions, 50,000 rows a batch at visits that stay open: files of state a batch",
    unit="kB",
    ours=_ours,
    goals={_figure(size): Goal(within=_MOST * needed_bytes(size) / _KB) for size in SIZES},
    rounds=1,
)
