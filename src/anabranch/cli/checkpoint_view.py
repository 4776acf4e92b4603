"""A checkpoint on a screen."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.findings import WHOLE, Finding
from anabranch.checkpoint.report import (
    BatchView,
    OperatorView,
    Source,
    formats,
    view_batch,
    view_horizon,
    view_operator,
)
from anabranch.checkpoint.restartable import Rewindability
from anabranch.checkpoint.sources import SourceRange
from anabranch.cli.output import write_line, write_table
from anabranch.text.format import format_duration, human_bytes, instant

# What fits on a screen; reading them takes no time.
NEWEST = 20
# More of a kind are counted, not listed: a deleted directory leaves thousands of checksums behind.
_MOST_OF_A_KIND = 5
_MOST_PARTITIONS = 4
_WIDTH = 100


def shown_batches(checkpoint: Checkpoint, every: bool) -> list[int]:
    return checkpoint.batches if every else checkpoint.batches[-NEWEST:]


def write_checkpoint(checkpoint: Checkpoint, found: Sequence[Finding], source: Source, *, every: bool) -> None:
    shown = shown_batches(checkpoint, every)
    _write(checkpoint.path, _about(checkpoint), "")
    if shown:
        columns = ("batch", "planned", "watermark", "committed", "rows", "read", "rewind")
        write_table(columns, [_batch_row(view_batch(checkpoint, batch, source)) for batch in shown])
        if len(shown) < len(checkpoint.batches):
            older = len(checkpoint.batches) - len(shown)
            _write(f"... and {older:,} older, from {checkpoint.batches[0]}: --all shows them.")
    else:
        _write("No batch has been planned yet.")
    _write("")
    _write_operators(checkpoint)
    _write(_horizon(checkpoint, source), "")
    _write_findings(found, every)


def _about(checkpoint: Checkpoint) -> str:
    versions = formats(checkpoint)
    known = ", ".join(f"{name} v{version}" for name, version in versions.items() if version is not None)
    return f"query {checkpoint.query_id or 'without an id'}" + (f" ({known})" if known else "")


def _batch_row(batch: BatchView) -> tuple[str, ...]:
    rows = "?" if batch.rows is None else f"{batch.rows:,}"
    return (
        str(batch.id),
        batch.planned_at or "?",
        batch.watermark or "-",
        "yes" if batch.committed else "no",
        rows if batch.sources else "?",
        _cut(" | ".join(_read(source) for source in batch.sources) or "(cannot be read)"),
        _rewind(batch.replay, batch.replan),
    )


def _rewind(replay: Rewindability, replan: Rewindability) -> str:
    if replay.possible and replan.possible:
        return "replay, replan"
    if replay.possible:
        return f"replay (no replan: {replan.why_not[0].text})"
    if replan.possible:
        return f"replan (no replay: {replay.why_not[0].text})"
    return f"no: {replay.why_not[0].text}"


def _read(source: SourceRange) -> str:
    match source.kind:
        case "kafka":
            return "  ".join(_topics(source.start or {}, source.end or {}))
        case "file":
            first, last = source.start, source.end
            return f"files: log {_as_text(first)} -> {_as_text(last)}" if first != last else f"files: nothing after log {last}"
        case _:
            return f"{source.kind}: {_as_text(source.start)} -> {_as_text(source.end)}"


def _topics(start: dict[str, dict[str, int]], end: dict[str, dict[str, int]]) -> Iterator[str]:
    for topic, ends in end.items():
        starts = start.get(topic, {})
        parts = [f"{p}: {starts.get(p, '?')}..{last}" for p, last in ends.items()]
        more = f" and {len(parts) - _MOST_PARTITIONS} more" if len(parts) > _MOST_PARTITIONS else ""
        yield f"{topic} " + " ".join(parts[:_MOST_PARTITIONS]) + more


def _as_text(value: Any) -> str:
    return "?" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _write_operators(checkpoint: Checkpoint) -> None:
    if not checkpoint.operators:
        _write("No state.", "")
        return
    columns = ("operator", "name", "provider", "stores", "partitions", "versions", "snapshots", "size")
    write_table(columns, [_operator_row(view_operator(checkpoint, operator)) for operator in checkpoint.operators])
    _write("")


def _operator_row(operator: OperatorView) -> tuple[str, ...]:
    versions = f"{operator.versions[0]}..{operator.versions[1]}" if operator.versions else "none in all stores"
    stores = _cut(", ".join(operator.stores) or "-")
    counts = (str(operator.partitions), versions, f"{operator.snapshots:,}", human_bytes(operator.bytes))
    return (str(operator.id), operator.name or "?", operator.provider, stores, *counts)


def _horizon(checkpoint: Checkpoint, source: Source) -> str:
    horizon = view_horizon(checkpoint, source)
    if horizon is None:
        return "No batch can be rewound to." if checkpoint.batches else "There is nothing to rewind."
    when = f", planned {horizon.planned_at}" if horizon.planned_at else ""
    span = f", {format_duration(horizon.span_ms / 1000)} before the newest" if horizon.span_ms else ""
    size = f"; the state kept for it takes {human_bytes(horizon.state_bytes)}" if checkpoint.operators else ""
    retained = "Kafka retains its data" if source.retained else "Source retention was not checked"
    return f"Oldest batch you can rewind to: {horizon.batch}{when}{span}{size}. {retained}."


def _write_findings(found: Sequence[Finding], every: bool) -> None:
    if not found:
        where = "" if every else " in the newest batches (--all reads every one)"
        _write(f"No findings{where}.")
        return
    _write(f"{len(found):,} finding{'s' if len(found) > 1 else ''}:")
    counts: dict[str, int] = {}
    for finding in found:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if every or counts[finding.code] <= _MOST_OF_A_KIND:
            where = f"{finding.file} " if finding.file != WHOLE else ""
            _write(f"  {where}[{finding.code}]: {finding.reason.text}.", *(f"    -> {way}" for way in finding.remedies))
    for code, count in counts.items():
        if not every and count > _MOST_OF_A_KIND:
            _write(f"  ... and {count - _MOST_OF_A_KIND:,} more [{code}]: --all shows them.")


def write_batch(checkpoint: Checkpoint, batch: int, found: Sequence[Finding], source: Source) -> None:
    """One batch in full."""
    view, entry, commit = (
        view_batch(checkpoint, batch, source),
        checkpoint.offset_entry(batch),
        checkpoint.commit_entry(batch),
    )
    after = instant(commit.next_watermark_ms) if commit else None
    _write(f"batch {batch} of {checkpoint.path}")
    _write(f"planned    {view.planned_at or '?'}", f"committed  {'yes' if view.committed else 'no'}")
    _write(f"watermark  {view.watermark or 'none yet'}" + (f", after it {after}" if after else ""))
    for place, read in enumerate(view.sources):
        rows = "" if read.rows is None else f", {read.rows:,} rows"
        _write(f"source {place}: {read.kind}{rows}", *(f"  {line}" for line in _in_full(read)))
    for name, verdict in (("replay", view.replay), ("replan", view.replan)):
        _write(f"{name:<9}  {'possible' if verdict.possible else 'not possible'}")
        _write(*(f"  {reason.text}" for reason in (*verdict.why_not, *verdict.notes)))
    for operator in checkpoint.operators:
        for store in operator.stores:
            kept = ", ".join(file.name for file in store.versions.get(batch, ())) or "no file"
            _write(f"state before it, {store.label}: {kept}")
    _write(*(f"conf       {name}={value}" for name, value in (entry.conf if entry else {}).items()))
    _write_findings(found, every=True)


def write_state(batch: int, rows: Sequence[Mapping[str, Any]], *, has_more: bool) -> None:
    """One line for each key."""
    if not rows:
        _write(f"After batch {batch} the state is empty.")
        return
    write_table(list(rows[0]), [[_cut(_as_text(value)) for value in row.values()] for row in rows])
    _write("", f"State after batch {batch}" + (f": the first {len(rows):,} rows, --limit shows more." if has_more else "."))


def _in_full(source: SourceRange) -> Iterator[str]:
    if source.kind != "kafka":
        yield f"{_as_text(source.start)} -> {_as_text(source.end)}"
        return
    for topic, ends in (source.end or {}).items():
        starts = (source.start or {}).get(topic, {})
        for partition, last in ends.items():
            yield f"{topic} {partition}: {starts.get(partition, '?')}..{last}"


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 3] + "..."


def _write(*lines: str) -> None:
    for line in lines:
        write_line(line)
