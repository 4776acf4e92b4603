"""What a stream did with each record and each window, by SQL (DuckDB) from first principles. Shares no code with anabranch.

It knows what happened: the records of the topic, every run of a batch in the order of time with the watermark and the ranges
of its entry in the log of offsets, what was taken back, and what operations sent. It knows the law (docs/internals/hazards.md,
Time) as it is written, record by record and batch by batch: no cutoffs, no bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import duckdb


@dataclass(frozen=True)
class Told:
    """Rows of the tables below."""

    length_ms: int
    slide_ms: int
    delay_ms: int
    # partition, offset, event_ms, is_usable
    ledger: Sequence[tuple[int, int, int | None, bool]]
    # run, batch, watermark_ms, is_committed, has_written: also those that were taken back, in the order of time.
    runs: Sequence[tuple[int, int, int, bool, bool]]
    # run, partition, first, end_
    reads: Sequence[tuple[int, int, int, int]]
    # partition, first, end_: the offset from which on the stream was to read, and the one behind the last of the lake.
    lake: Sequence[tuple[int, int, int]]
    # after (a run), batch: from this batch on all were taken back.
    rewinds: Sequence[tuple[int, int]] = ()
    # operation, after (a run), place, from_ms, to_ms: has sent the results of the windows that begin in this range.
    corrections: Sequence[tuple[str, int, int, int, int]] = ()
    # operation, partition, end_: what was in the lake then.
    known: Sequence[tuple[str, int, int]] = ()
    # place, start_ms, value, operation: results as they are on the topic. A value of None is a deleted one.
    found: Sequence[tuple[int, int, int | None, str | None]] = ()


@dataclass(frozen=True)
class Cell:
    """One window, by what the lake and the results hold of it."""

    in_lake: int
    problems: int
    counted: int
    late: int
    emitted: int | None
    should_be: int | None
    operation: str | None
    verdict: str


@dataclass(frozen=True)
class LateRow:
    """A record that the first of its windows lacks, or will lack."""

    partition: int
    offset: int
    event_ms: int
    window_end_ms: int
    batch: int
    was_read: bool
    watermark_ms: int
    late_by_ms: int


@dataclass(frozen=True)
class Truth:
    # When a window begins -> what is true of it. Closed ones.
    windows: dict[int, Cell]
    # Windows with usable records that are not closed.
    open: int
    # Records that no result counts, of windows that are wrong by late records alone.
    not_counted: int
    late: list[LateRow]
    # Of the records of closed windows, and of those without a time.
    in_lake: int
    counted: int
    problems: int
    # When a window ends -> the first batch that knew it closed, its watermark, and the greatest event time before that batch.
    closed_by: dict[int, tuple[int, int, int]]
    # Results as they are on the topic, of every window.
    results: dict[int, tuple[int | None, str | None]] = field(default_factory=dict)


_TABLES = """
CREATE OR REPLACE TABLE ledger(partition INT, "offset" BIGINT, event_ms BIGINT, is_usable BOOLEAN);
CREATE OR REPLACE TABLE runs(run INT, batch INT, watermark_ms BIGINT, is_committed BOOLEAN, has_written BOOLEAN);
CREATE OR REPLACE TABLE reads(run INT, partition INT, first BIGINT, end_ BIGINT);
CREATE OR REPLACE TABLE lake(partition INT, first BIGINT, end_ BIGINT);
CREATE OR REPLACE TABLE rewinds(after INT, batch INT);
CREATE OR REPLACE TABLE corrections(operation VARCHAR, after INT, place INT, from_ms BIGINT, to_ms BIGINT);
CREATE OR REPLACE TABLE known(operation VARCHAR, partition INT, end_ BIGINT);
CREATE OR REPLACE TABLE found(place INT, start_ms BIGINT, value BIGINT, operation VARCHAR);
"""

_LAW = """
-- Each record with each of its windows.
CREATE OR REPLACE TABLE in_window AS
SELECT * EXCLUDE number, number * $slide AS start_ms, number * $slide + $length AS end_ms
FROM (SELECT *, unnest(range((event_ms - $length) // $slide + 1, event_ms // $slide + 1)) AS number
      FROM ledger WHERE event_ms IS NOT NULL);

-- Which batches stood while each run ran, itself among them; and behind the last.
CREATE OR REPLACE TABLE standing AS
SELECT moments.during, runs.*
FROM (SELECT run AS during FROM runs UNION ALL SELECT max(run) + 1 FROM runs) AS moments JOIN runs ON runs.run <= moments.during
WHERE NOT EXISTS (FROM runs AS later WHERE later.run > runs.run AND later.run <= moments.during AND later.batch <= runs.batch)
  AND NOT EXISTS (FROM rewinds WHERE after >= runs.run AND after < moments.during AND rewinds.batch <= runs.batch);

-- The law: of each usable record and window, whether the batch that read it dropped it.
CREATE OR REPLACE TABLE law AS
SELECT standing.during, standing.batch, in_window.*, coalesce(end_ms <= before.watermark_ms, FALSE) AS is_dropped
FROM in_window
JOIN reads ON reads.partition = in_window.partition AND "offset" >= reads.first AND "offset" < reads.end_
JOIN standing ON standing.run = reads.run
LEFT JOIN standing AS before ON before.during = standing.during AND before.batch = standing.batch - 1
WHERE is_usable;

-- In append mode a window's result is what was counted up to the batch whose watermark has reached its end.
CREATE OR REPLACE TABLE emissions AS
SELECT runs.run AS after, 0 AS place, start_ms, count(*) AS value, NULL::VARCHAR AS operation
FROM runs JOIN law ON law.during = runs.run AND NOT is_dropped
LEFT JOIN standing AS before ON before.during = runs.run AND before.batch = runs.batch - 1
WHERE runs.has_written AND end_ms <= runs.watermark_ms AND coalesce(end_ms > before.watermark_ms, TRUE)
GROUP BY ALL;

-- What an operation knew of each window.
CREATE OR REPLACE TABLE corrected AS
SELECT operation, start_ms, count(*) AS value
FROM in_window JOIN known USING (partition) JOIN lake USING (partition)
WHERE is_usable AND "offset" < known.end_ AND "offset" >= lake.first
GROUP BY ALL;

-- The latest of each window.
CREATE OR REPLACE TABLE results AS
SELECT start_ms, arg_max(struct_pack(value := value, operation := operation), (after, place)) AS held
FROM (
    FROM emissions
    UNION ALL
    SELECT after, place, start_ms, value, operation FROM corrected JOIN corrections USING (operation)
    WHERE start_ms >= from_ms AND start_ms < to_ms
    UNION ALL
    SELECT (SELECT max(run) + 1 FROM runs), place, start_ms, value, operation FROM found
)
GROUP BY start_ms;

-- The batches of the timeline that stands, as far as the lake has all that they have read.
CREATE OR REPLACE TABLE timeline AS
SELECT batch, watermark_ms, run FROM standing
WHERE during = (SELECT max(run) + 1 FROM runs) AND is_committed AND NOT EXISTS (
    FROM standing AS earlier JOIN reads USING (run) LEFT JOIN lake USING (partition)
    WHERE earlier.during = standing.during AND earlier.batch <= standing.batch AND reads.end_ > coalesce(lake.end_, 0)
);
CREATE OR REPLACE TABLE newest AS SELECT batch, watermark_ms FROM timeline ORDER BY batch DESC LIMIT 1;

-- The records of the lake with each window, and the batch that reads them: the next one, if none has.
CREATE OR REPLACE TABLE judged AS
SELECT in_window.*, end_ms <= newest.watermark_ms AS is_closed, coalesce(read_by.batch, newest.batch + 1) AS batch,
       read_by.batch IS NOT NULL AS was_read, before.watermark_ms AS by_ms,
       is_usable AND coalesce(end_ms <= before.watermark_ms, FALSE) AS is_late,
       min(end_ms) OVER (PARTITION BY in_window.partition, "offset") = end_ms AS is_first
FROM in_window JOIN lake ON lake.partition = in_window.partition AND "offset" >= lake.first AND "offset" < lake.end_
CROSS JOIN newest
LEFT JOIN (SELECT timeline.batch, reads.* FROM timeline JOIN reads USING (run)) AS read_by
  ON read_by.partition = in_window.partition AND "offset" >= read_by.first AND "offset" < read_by.end_
LEFT JOIN timeline AS before ON before.batch = coalesce(read_by.batch, newest.batch + 1) - 1;

-- Of each closed window what an audit says.
CREATE OR REPLACE TABLE cells AS
WITH counts AS (
    SELECT start_ms, count(*) AS in_lake, count(*) FILTER (NOT is_usable) AS problems, count(*) FILTER (is_late) AS late,
           count(*) FILTER (is_usable AND NOT is_late) AS counted, count(*) FILTER (is_usable) AS usable
    FROM judged GROUP BY start_ms
), held AS (
    SELECT start_ms, coalesce(in_lake, 0) AS in_lake, coalesce(problems, 0) AS problems, coalesce(counted, 0) AS counted,
           coalesce(late, 0) AS late, held.value AS emitted, nullif(coalesce(usable, 0), 0) AS should_be,
           CASE WHEN held.value IS NOT NULL THEN held.operation END AS operation
    FROM counts FULL JOIN results USING (start_ms)
)
SELECT held.*, CASE
    WHEN emitted IS NOT DISTINCT FROM should_be THEN CASE WHEN held.operation IS NULL THEN 'equal' ELSE 'corrected' END
    WHEN emitted IS NOT DISTINCT FROM CASE WHEN held.operation IS NULL THEN nullif(counted, 0) ELSE corrected.value END
        THEN 'late'
    WHEN emitted IS NULL THEN 'missing'
    WHEN should_be IS NULL THEN 'unexpected'
    ELSE 'different' END AS verdict
FROM held CROSS JOIN newest
LEFT JOIN corrected ON corrected.operation = held.operation AND corrected.start_ms = held.start_ms
WHERE held.start_ms + $length <= newest.watermark_ms AND (should_be IS NOT NULL OR emitted IS NOT NULL);
"""

_LATE = """
SELECT partition, "offset", any_value(event_ms), min(end_ms), any_value(batch), any_value(was_read), any_value(by_ms),
       any_value(by_ms) - min(end_ms)
FROM judged GROUP BY partition, "offset" HAVING bool_or(is_late) ORDER BY partition, "offset"
"""

# Of a window that is wrong by late records those that its result lacks; of windows that overlap a record's first one tells.
_NOT_COUNTED = """
SELECT count(*) FROM judged JOIN cells USING (start_ms)
LEFT JOIN known ON known.operation = cells.operation AND known.partition = judged.partition
WHERE verdict = 'late' AND is_usable AND is_first
  AND CASE WHEN cells.operation IS NULL THEN is_late ELSE "offset" >= coalesce(known.end_, 0) END
"""

_BALANCE = """
WITH records AS (
    SELECT partition, "offset", any_value(is_usable) AS is_usable, bool_or(is_late) AS is_late
    FROM judged GROUP BY partition, "offset" HAVING bool_or(is_closed)
    UNION ALL
    SELECT partition, "offset", FALSE, FALSE FROM ledger JOIN lake USING (partition)
    WHERE event_ms IS NULL AND "offset" >= lake.first AND "offset" < lake.end_
)
SELECT count(*), count(*) FILTER (is_usable AND NOT is_late), count(*) FILTER (NOT is_usable) FROM records
"""

_CLOSED_BY = """
SELECT end_ms, closing.batch, any_value(closing.watermark_ms), max(event_ms) FILTER (timeline.batch < closing.batch)
FROM (
    SELECT ends.end_ms, min(batch) AS batch, min(watermark_ms) AS watermark_ms
    FROM (SELECT DISTINCT end_ms FROM judged) AS ends JOIN timeline ON timeline.watermark_ms >= ends.end_ms GROUP BY ends.end_ms
) AS closing
CROSS JOIN timeline JOIN reads USING (run)
JOIN ledger ON ledger.partition = reads.partition AND "offset" >= reads.first AND "offset" < reads.end_ AND is_usable
GROUP BY end_ms, closing.batch
"""


class Oracle:
    """One database in memory, filled again for each history."""

    def __init__(self) -> None:
        self._db = duckdb.connect(config={"threads": 1})

    def ask(self, told: Told) -> Truth:
        self._db.execute(_TABLES)
        for one in fields(told)[3:]:
            if rows := getattr(told, one.name):
                self._db.execute(f"INSERT INTO {one.name} VALUES {', '.join(map(_row, rows))}")
        self._rows(f"{_LAW} SELECT 1", told)
        ((in_lake, counted, problems),) = self._rows(_BALANCE, told)
        ((not_counted,),) = self._rows(_NOT_COUNTED, told)
        ((open_windows,),) = self._rows("SELECT count(DISTINCT start_ms) FROM judged WHERE is_usable AND NOT is_closed", told)
        return Truth(
            windows={start: Cell(*values) for start, *values in self._rows("FROM cells ORDER BY start_ms", told)},
            open=open_windows,
            not_counted=not_counted,
            late=[LateRow(*row) for row in self._rows(_LATE, told)],
            in_lake=in_lake,
            counted=counted,
            problems=problems,
            closed_by={end: (batch, watermark, event) for end, batch, watermark, event in self._rows(_CLOSED_BY, told)},
            results={start: (held["value"], held["operation"]) for start, held in self._rows("FROM results", told)},
        )

    def _rows(self, sql: str, told: Told) -> list[tuple[Any, ...]]:
        numbers = {"$length": told.length_ms, "$slide": told.slide_ms}
        for name, value in numbers.items():
            sql = sql.replace(name, str(value))
        return self._db.execute(sql).fetchall()


def _row(values: Sequence[object]) -> str:
    return f"({', '.join(map(_literal, values))})"


def _literal(value: object) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value).upper()
