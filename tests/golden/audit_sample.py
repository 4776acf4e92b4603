"""An audit with something in every part of it."""

from __future__ import annotations

from anabranch.audit import messages
from anabranch.audit.verdict import Audit, Balance, ClosedBy, Concentration, Found, Late, Pins, Verdict
from anabranch.audit.windows import LateRecord
from anabranch.reprocess.plan import Range

_WINDOW = ("2025-09-04T07:00:00Z", "2025-09-04T07:10:00Z")
_START_MS = 1_756_969_200_000

AUDIT_SAMPLE = Audit(
    id="20250904T090000-audit-7a8b",
    at="2025-09-04T09:00:03.120Z",
    pipeline="visits-counter",
    sink="topic:visits_counter",
    asked=None,
    since="20250904T080000-audit-1c2d",
    ranges=(Range(-62_135_596_800_000, _START_MS + 600_000),),
    span=Range(_START_MS, _START_MS + 600_000),
    pins=Pins(
        lake="/data/lake",
        lake_id="5c1e",
        lake_version=12,
        lake_ends={0: 42, 1: 9},
        results={0: (0, 7), 1: (0, 3)},
        table_version=None,
        first_batch=0,
        last_batch=8,
        behind=1,
        watermark="2025-09-04T08:02:00Z",
        history_bytes=4096,
        code="3f9a1c0011223344",
        source_topic_id="src",
        result_topic_id="res",
        stream_id="2d01",
    ),
    verdict=Verdict(windows=1, equal=0, wrong=1, open=2, unknown=0, results={"late": 1}, usable=50, not_counted=8),
    balance=Balance(in_lake=51, counted=42, late=8, problems=1),
    late=Late(
        count=8,
        unread=1,
        least_ms=464_000,
        median_ms=543_000,
        most_ms=1_900_000,
        by_partition={0: 1, 1: 7},
        concentrated=(Concentration("partition", "1", 7, 8, 0.42),),
        closed_by=ClosedBy(_WINDOW[1], 4, "2025-09-04T07:20:04Z", "visits:0:33", "2025-09-04T07:30:04Z"),
        records=(
            LateRecord(
                1, 8, _START_MS + 5_000, _START_MS + 4_000_000, _START_MS + 600_000, 6, True, _START_MS + 1_064_000, 1_065_000
            ),
        ),
    ),
    found=(
        Found(
            *_WINDOW, '{"window_start":"2025-09-04T07:00:00.000Z"}', 50, 42, 8, 0, '{"count":42}', '{"count":50}', "late", None
        ),
    ),
    notes=(messages.LAKE_IS_BEHIND(batches=1),),
)
