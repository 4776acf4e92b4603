"""What there is to show of a checkpoint, as values and as JSON: each UI renders it in its own way.

Says nothing that checkpoint.py, restartable.py and findings.py have not decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from anabranch.checkpoint.checkpoint import Checkpoint, Operator
from anabranch.checkpoint.findings import Finding, findings
from anabranch.checkpoint.layout import BASES, RetainedOffsets, StoreFiles
from anabranch.checkpoint.restartable import Rewindability, judge_replan, judge_replay, oldest_restartable
from anabranch.checkpoint.sources import SourceRange
from anabranch.errors import Reason
from anabranch.text.format import instant


@dataclass(frozen=True)
class BatchView:
    id: int
    # None: the entry cannot be read, or says nothing that could be a time.
    planned_at: str | None
    # None: there is none yet.
    watermark: str | None
    committed: bool
    sources: tuple[SourceRange, ...]
    replay: Rewindability
    replan: Rewindability

    @property
    def rows(self) -> int | None:
        counts = [source.rows for source in self.sources if source.rows is not None]
        return sum(counts) if counts and len(counts) == len(self.sources) else None


@dataclass(frozen=True)
class OperatorView:
    id: int
    name: str | None
    provider: str
    stores: list[str]
    partitions: int
    # Held by every store; None: there is no such version.
    versions: tuple[int, int] | None
    snapshots: int
    bytes: int


@dataclass(frozen=True)
class Horizon:
    """How far back one can go."""

    batch: int
    planned_at: str | None
    # From there to the newest batch; None where a time is missing.
    span_ms: int | None
    # What the state of all kept batches takes.
    state_bytes: int


@dataclass(frozen=True)
class Source:
    """What is known of the source from outside."""

    # What Kafka retains; None: not known.
    retained: RetainedOffsets | None = None
    # Why no batch can be rewound to, whatever the checkpoint holds.
    blocked: tuple[Reason, ...] = ()


UNKNOWN = Source()


def view_batch(checkpoint: Checkpoint, batch: int, source: Source = UNKNOWN) -> BatchView:
    entry, held = checkpoint.offset_entry(batch), source.retained
    blocked = Rewindability(source.blocked) if source.blocked else None
    return BatchView(
        id=batch,
        planned_at=instant(entry.timestamp_ms) if entry else None,
        watermark=instant(entry.watermark_ms) if entry else None,
        committed=batch in checkpoint.commits,
        sources=checkpoint.ranges(batch),
        replay=blocked or judge_replay(checkpoint, batch, held),
        replan=blocked or judge_replan(checkpoint, batch, held),
    )


def view_operator(checkpoint: Checkpoint, operator: Operator) -> OperatorView:
    metadata = checkpoint.operator_metadata(operator)
    held = [store.versions for store in operator.stores]
    first = max((min(versions, default=0) for versions in held), default=0)
    last = min((max(versions, default=0) for versions in held), default=0)
    return OperatorView(
        id=operator.id,
        name=metadata.name if metadata else None,
        provider=provider_of(operator.stores),
        stores=sorted({store.name for store in operator.stores}),
        partitions=len({store.partition for store in operator.stores}),
        versions=(first, last) if 0 < first <= last else None,
        snapshots=sum(any(file.kind in BASES for file in files) for versions in held for files in versions.values()),
        bytes=sum(store.bytes for store in operator.stores),
    )


def provider_of(stores: tuple[StoreFiles, ...]) -> str:
    """Guessed from the kinds of files: a checkpoint names its provider only in some versions."""
    kinds = {file.kind for store in stores for files in store.versions.values() for file in files}
    if kinds & {"delta", "snapshot"}:
        return "mixed" if kinds & {"zip", "changelog"} else "HDFS-backed"
    if "changelog" in kinds:
        return "RocksDB + changelog"
    return "RocksDB" if kinds else "unknown"


def view_horizon(checkpoint: Checkpoint, source: Source = UNKNOWN) -> Horizon | None:
    """None: no batch can be taken back to."""
    oldest = None if source.blocked else oldest_restartable(checkpoint, source.retained)
    if oldest is None or checkpoint.newest is None:
        return None
    first, last = checkpoint.offset_entry(oldest), checkpoint.offset_entry(checkpoint.newest)
    in_time = first is not None and last is not None and instant(first.timestamp_ms) and instant(last.timestamp_ms)
    return Horizon(
        batch=oldest,
        planned_at=instant(first.timestamp_ms) if first else None,
        span_ms=max(0, last.timestamp_ms - first.timestamp_ms) if in_time and first and last else None,
        state_bytes=sum(store.bytes for operator in checkpoint.operators for store in operator.stores),
    )


def formats(checkpoint: Checkpoint) -> dict[str, int | None]:
    """The versions of the two logs, and of the names of state files; None where there is nothing to tell it by."""
    entry = checkpoint.offset_entry(checkpoint.newest) if checkpoint.newest is not None else None
    commit = checkpoint.commit_entry(checkpoint.commits.newest) if checkpoint.commits.newest is not None else None
    # The newest file tells: a query may have changed over on the way.
    newest = [
        file for operator in checkpoint.operators for store in operator.stores
        for file in (store.versions[max(store.versions)] if store.versions else ())
    ]  # fmt: skip
    return {
        "offsets": entry.version if entry else None,
        "commits": commit.version if commit else None,
        "state": (2 if any(file.id for file in newest) else 1) if newest else None,
    }


def as_json(
    checkpoint: Checkpoint, batches: Sequence[int] | None = None, source: Source = UNKNOWN, also: Sequence[Finding] = ()
) -> dict[str, Any]:
    """All of it: every entry of the logs is read; or these batches, and what is wrong with them. `also`: further findings."""
    shown = checkpoint.batches if batches is None else batches
    return {
        "path": checkpoint.path,
        "query_id": checkpoint.query_id,
        "formats": formats(checkpoint),
        "newest_batch": checkpoint.newest,
        "batches": [batch_json(view_batch(checkpoint, batch, source)) for batch in shown],
        "operators": [operator_json(view_operator(checkpoint, operator)) for operator in checkpoint.operators],
        "findings": [finding.as_json() for finding in (*findings(checkpoint, batches), *also)],
    }


def batch_json(batch: BatchView) -> dict[str, Any]:
    return {
        "id": batch.id,
        "planned_at": batch.planned_at,
        "watermark": batch.watermark,
        "committed": batch.committed,
        "sources": [
            {"kind": source.kind, "start": source.start, "end": source.end, "rows": source.rows} for source in batch.sources
        ],
        "replay": _verdict(batch.replay),
        "replan": _verdict(batch.replan),
    }


def operator_json(operator: OperatorView) -> dict[str, Any]:
    kept = ("id", "name", "provider", "stores", "partitions")
    return {**{name: getattr(operator, name) for name in kept}, "versions": list(operator.versions or ())}


def _verdict(verdict: Rewindability) -> dict[str, Any]:
    reasons = [reason.as_json() for reason in verdict.why_not]
    return {
        "possible": verdict.possible,
        "why_not": "; ".join(reason.text for reason in verdict.why_not) or None,
        "reasons": reasons,
    }
