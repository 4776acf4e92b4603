"""What it costs to keep a day of batches: a small batch beside a history of 5,760, and beside one of Spark's default 100.

A history is not run, that would take an hour: a checkpoint of a few batches gets a high number, and copies of its entries
below it.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.spark.session import SETTINGS
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.history import write_file
from benchmarks.streams import duration_ms, full_batches, start_ours

_RETAIN = "spark.sql.streaming.minBatchesToRetain"
_CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
_ROWS = 50
_FIRST, _BATCHES, _COLD = 10, 150, 90
_NUMBER = 10_000


def _figures(place: Place, keep: str) -> Figures:
    place.spark.conf.set(_RETAIN, keep)
    # Whole snapshots: so the last version alone is enough to resume from.
    place.spark.conf.set(_CHANGELOG, "false")
    full_batches(place, start_ours(place, VISITS_WINDOWS.changed(max_offsets=_ROWS)), _ROWS, at_most=_FIRST)
    place.spark.conf.set(_CHANGELOG, SETTINGS[_CHANGELOG])
    _age(place.directory / "checkpoints" / VISITS_WINDOWS.name, int(keep))
    place.say(f"a history of {keep} batches")
    batches = full_batches(place, start_ours(place, VISITS_WINDOWS.changed(max_offsets=_ROWS)), _ROWS, at_most=_BATCHES)
    return {"batch of 50 rows": duration_ms(batches[_COLD:])}


def _age(checkpoint: Path, keep: int) -> None:
    """The newest committed batch becomes number 10,000, with so many before it."""
    newest = max(int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal())
    for log in ("offsets", "commits"):
        content = (checkpoint / log / str(newest)).read_bytes()
        for path in (checkpoint / log).iterdir():
            path.unlink()
        for number in range(_NUMBER - keep, _NUMBER + 1):
            write_file(checkpoint / log / str(number), content)
    for store in (path for path in (checkpoint / "state" / "0").iterdir() if path.name.isdecimal()):
        content = (store / f"{newest + 1}.zip").read_bytes()
        for path in store.iterdir():
            if path.is_file():
                path.unlink()
        for version in range(_NUMBER - keep, _NUMBER):
            write_file(store / f"{version}.changelog", b"changes")
        write_file(store / f"{_NUMBER + 1}.zip", content)


def _ours(place: Place) -> Figures:
    return _figures(place, SETTINGS[_RETAIN])


def _plain(place: Place) -> Figures:
    return _figures(place, "100")


CASE = Case(
    name="horizon",
    summary="visits-windows, 50 rows a batch, with the history of a day; plain: with Spark's 100 batches",
    unit="ms",
    ours=_ours,
    plain=_plain,
    goals={"batch of 50 rows": Goal(at_most=1.05)},
)
