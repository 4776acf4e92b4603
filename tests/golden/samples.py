"""One value for each format that we write and read again: its golden file is kept for good."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from anabranch.audit.store import AUDIT
from anabranch.checkpoint.baseline import Baseline
from anabranch.checkpoint.baseline_file import BASELINE
from anabranch.checkpoint.history import HISTORY, BatchRecord, HistoryEntry, NewestEvent, WatermarkJump
from anabranch.delta.written_rows import WrittenRows, WrittenVersions
from anabranch.kafka.embedded.broker import BROKER, RunningBroker
from anabranch.operations.change import CheckpointChange, SinkChange
from anabranch.operations.log import RECEIPT
from anabranch.operations.receipt import Check, Receipt
from anabranch.pipeline.catalog import Catalog
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.manifest import definition_of, manifest_of
from anabranch.pipeline.sinks import Table
from anabranch.pipeline.topic import Place, define_topic
from anabranch.project.catalog_file import DEFINITION, MANIFEST
from anabranch.project.project import PROJECT, ProjectMark
from anabranch.reprocess.apply import REPAIR, REPROCESS
from anabranch.reprocess.completeness import LakeProof
from anabranch.reprocess.inspect import PROOF
from anabranch.reprocess.plan import Change, Range, ReprocessPlan, Unexpected
from anabranch.reprocess.rules import RULES, LakeRules
from anabranch.reprocess.staleness import InputSnapshot
from anabranch.rewind import messages
from anabranch.rewind.apply import REWIND, UNDO
from anabranch.rewind.plan import RewindPlan
from anabranch.rewind.undo import UndoPlan
from anabranch.storage.files import Format
from anabranch.storage.lease import LEASE, Holder, ProcessMark
from anabranch.streaming.messages import ROWS_DELETED, ROWS_RESTORED
from anabranch.streaming.sinks.delta import ROWS, VERSIONS
from tests.golden.audit_sample import AUDIT_SAMPLE

_MARK = ProcessMark(4711, 1757606666.5, "5d0f7c2e-1b1c-4a53-9f55-6a3c1f0f9e11/123456")
_ROWS = WrittenRows("/data/lake", "20250904T070000-rewind-1a2b", "2d01", {"visits": {"0": (30, 90)}}, 60, 8, 8, 2)
_ABOUT = {"table": "/data/lake", "rows": 60, "newest": 8, "set_back_to": 2}
_SINK = SinkChange("table", "take back", ROWS_DELETED(**_ABOUT), ROWS_RESTORED(**_ABOUT), ROWS.as_json(_ROWS))
_CHANGE = CheckpointChange(
    operation="20250904T070000-rewind-1a2b",
    aside="_rewind/20250904T070000-rewind-1a2b",
    is_back=False,
    paths=("commits/8", "commits/.8.crc", "offsets/8"),
    fence="offsets/9",
    sink=_SINK,
    before="0" * 64,
    after="f" * 64,
)
_REWIND = RewindPlan(
    change=_CHANGE,
    checkpoint="/data/checkpoint",
    pipeline="visits-lake",
    mode="replay",
    batch=3,
    newest=8,
    watermark_ms=0,
    watermark_after_ms=0,
    offsets={"visits": {"0": (90, 30)}},
    rows=60,
    state_version=0,
    bytes=1234,
    notes=(messages.KAFKA_RETAINS(topic="visits", ranges="0: 0..90"), messages.OTHER_CODE()),
)
_UNDO = UndoPlan(_CHANGE, "20250904T070000-rewind-1a2b", "/data/checkpoint", "visits-lake", 3, 8)
_REPROCESS = ReprocessPlan(
    operation="20250904T080000-reprocess-3c4d",
    pipeline="visits-counter",
    topic="visits_counter",
    asked=Range(1_000, 2_000),
    range=Range(0, 600_000),
    ranges=(Range(0, 600_000),),
    windows=1,
    lake="/data/lake",
    lake_version=12,
    files=3,
    rows=5,
    results=1,
    changed=1,
    changes=(Change('{"window_start":"1970-01-01T00:00:00.000Z"}', None, '{"count":5}'),),
    unexpected_results=1,
    unexpected=(Unexpected('{"window_start":"1970-01-01T00:05:00.000Z"}', '{"count":2}'),),
    inputs=InputSnapshot("src", "res", {0: (0, 7)}, "2d01", "lake-id", {0: (5, 41)}),
    audit=None,
)
_EVENT = NewestEvent("2025-09-05T07:00:00Z", "visits", 0, 24)
_OLD_BATCH = BatchRecord(7, "2025-09-04T07:00:00.000Z", 100, 3, 8, True, 51.5, 1940, "2025-09-04T06:50:00.000Z", _EVENT)
_BATCH = replace(
    _OLD_BATCH,
    ranges={"visits": {0: (0, 100), 1: (40, 40)}},
    planned_at="2025-09-04T07:00:00.012Z",
    committed_at="2025-09-04T07:00:01.940Z",
    phases_ms={"addBatch": 1700, "triggerExecution": 1940},
    state_rows=31,
    code="0a1b",
)
_JUMP = WatermarkJump(7, "2025-09-04T06:50:00.000Z", "2025-09-05T06:50:00Z", _EVENT)
_BASELINE = Baseline(
    query_id="2d01",
    cluster_id="cluster",
    topics={"visits": "topic-id"},
    sink="table:.anabranch/lake/visits",
    table_id="table-id",
    zone="Europe/Paris",
    window_s=600.0,
    slide_s=None,
    watermark_s=None,
    shuffle_partitions="2",
    future_tolerance="1h",
    skip=("visits:0:24",),
    codes={"0a1b": 0, "2c3d": 7},
)

_TOPIC = define_topic(
    "orders",
    schema="order_id STRING NOT NULL, amount DECIMAL(12,2), placed_at TIMESTAMP NOT NULL, `odd name` MAP<STRING, INT>",
    event_time="placed_at",
    lake="lake/orders",
    aliases={"order_id": "id"},
    integers_as_text=("order_id",),
    place=Place("/data/pipelines.py", 7),
)
_PIPELINE = Pipeline(
    name="revenue",
    summary="Revenue by window",
    topics=(_TOPIC,),
    sink=Table("out/revenue", ("order_id",)),
    result_topic="revenue",
    trigger_s=15.0,
    window_s=600.0,
    slide_s=300.0,
    watermark_s=600.0,
    grouping=("window",),
    is_recomputable=True,
    place=Place("/data/pipelines.py", 15),
    source_hash="f" * 64,
)

SAMPLES: list[tuple[Format[Any], Any]] = [
    (BASELINE, _BASELINE),
    (DEFINITION, definition_of(_PIPELINE)),
    (MANIFEST, manifest_of(Catalog((_TOPIC,), (_PIPELINE,)), {"/data/pipelines.py": "0" * 64})),
    (HISTORY, HistoryEntry(7, 800, 12, 9, 1, 3, True, _JUMP, _BATCH, None, None)),
    (LEASE, Holder("run", _MARK, _MARK, "host", "2025-09-04T07:00:00Z")),
    (BROKER, RunningBroker(_MARK, 9094, 1757606666.5)),
    (PROJECT, ProjectMark("0.2.0")),
    (RECEIPT, Receipt("2025-09-04T07:00:00Z", "done", 3, (Check(messages.NO_FENCE_LEFT(), True),), None, None, None)),
    (REWIND, _REWIND),
    (UNDO, _UNDO),
    (REPROCESS, _REPROCESS),
    (REPAIR, replace(_REPROCESS, operation="20250904T080000-repair-5e6f", audit="20250904T075900-audit-7a8b")),
    (ROWS, _ROWS),
    (VERSIONS, WrittenVersions("/data/out", "20250904T070000-rewind-1a2b", "2d01", 4, 60, 8, 8, 2)),
    (AUDIT, AUDIT_SAMPLE),
    (PROOF, LakeProof("table-id", 12, "visits", {0: (0, 42), 1: (3, 9)})),
    (RULES, LakeRules("table-id", "query-id", 12, 3456, 11, "3c42f6c95eb0306a")),
]

# What is read of the golden file of an earlier number.
EARLIER: list[tuple[Format[Any], int, Any]] = [
    (DEFINITION, 1, definition_of(_PIPELINE)),
    (MANIFEST, 1, manifest_of(Catalog((_TOPIC,), (_PIPELINE,)), {"/data/pipelines.py": "0" * 64})),
    (REPROCESS, 2, _REPROCESS),
    (REPROCESS, 1, replace(_REPROCESS, unexpected_results=0, unexpected=())),
    (BASELINE, 2, _BASELINE),
    (
        BASELINE,
        1,
        replace(_BASELINE, query_id=None, cluster_id=None, sink=None, table_id=None, zone=None, future_tolerance=None, skip=()),
    ),
    (HISTORY, 2, HistoryEntry(7, 800, 12, 9, 1, 3, True, _JUMP, _OLD_BATCH, None, None)),
    (
        HISTORY,
        1,
        HistoryEntry(
            7, 800, 12, 0, 0, 8, True, None, replace(_OLD_BATCH, late=None, duration_ms=None, newest_event=None), None, None
        ),
    ),
]
