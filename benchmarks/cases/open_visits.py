"""visits-sessions with many visits open, of which a batch touches some. Ours alone: the plain way would take half an hour."""

from __future__ import annotations

import json
from pathlib import Path

from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.open_visits import MEASURED_BATCHES, ROWS_A_BATCH, SIZES, topic_of
from benchmarks.streams import checkpoint_of, full_batches, rows_per_s, start_ours

# By size: rows a second, and bytes of state a batch.
Measures = dict[str, tuple[float, float]]
_BYTES = "open_visits.json"


def measure(place: Place) -> Measures:
    # So often that no snapshot waits for it: one for every ten batches, which is the most that Spark makes.
    place.spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "2s")
    found = {str(size): _measure_size(place, size) for size in SIZES}
    (place.shared / _BYTES).write_text(json.dumps(found), encoding="utf-8")
    return found


def measured_before(place: Place) -> Measures:
    """What the case of the rates has found just before; alone, it is measured for this one."""
    file = place.shared / _BYTES
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else measure(place)


def _measure_size(place: Place, size: int) -> tuple[float, float]:
    place.say(f"{size:,} open")
    name = topic_of(size)
    query = start_ours(place, VISITS_SESSIONS.reading(name).changed(max_offsets=ROWS_A_BATCH), name)
    batches = full_batches(place, query, ROWS_A_BATCH)[-MEASURED_BATCHES:]
    written = _state_bytes(checkpoint_of(place, name), batches[0].number, batches[-1].number)
    return rows_per_s(batches), written / len(batches)


def _state_bytes(checkpoint: Path, first: int, last: int) -> int:
    """Of all files of state that were written from after the batch before the first until the last was committed."""
    start_s, end_s = (_committed_s(checkpoint, batch) for batch in (first - 1, last))
    files = [path.stat() for path in (checkpoint / "state").rglob("*") if path.is_file()]
    return sum(file.st_size for file in files if start_s < file.st_mtime <= end_s)


def _committed_s(checkpoint: Path, batch: int) -> float:
    return (checkpoint / "commits" / str(batch)).stat().st_mtime


def _ours(place: Place) -> Figures:
    return {f"{int(size):,} open": rate for size, (rate, _) in measure(place).items()}


CASE = Case(
    name="open_visits",
    summary="visits-sessions, 50,000 rows a batch at visits that stay open",
    unit="rows/s",
    ours=_ours,
    goals={"100,000 open": Goal(no_less_than=20_000), "1,000,000 open": Goal(no_less_than=10_000)},
    rounds=1,
)
