"""What a reprocess plan was made from, and whether that has changed since.

Precise on purpose: a stream that continues, results of other keys, a lake that grows elsewhere or is compacted change nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from anabranch.errors import Reason
from anabranch.reprocess import messages

# So many keys are named: a reader wants to know which, not to scroll.
_NAMED = 3


@dataclass(frozen=True)
class InputSnapshot:
    """The fingerprint of what a plan read, as far as its results depend on it or would overwrite it."""

    # A topic that is deleted and recreated has another id.
    source_topic_id: str
    result_topic_id: str
    # Partition -> the half-open range of offsets that the result topic retained.
    results: Mapping[int, tuple[int, int]]
    # The id of the stream's query: a checkpoint that was set aside and started again has another.
    stream_id: str
    lake_id: str
    # Of the range's usable records in the lake: partition -> how many, and the offset of the last one.
    records: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class LaterResult:
    """A result that came after those which a plan read."""

    key: str
    origin: str
    operation: str | None


def stale_inputs(
    planned: InputSnapshot, now: InputSnapshot, later: Sequence[LaterResult], *, keys: Collection[str], operation: str
) -> Iterator[Reason]:
    """All that changed for a plan of these keys. What its own operation sent before it was interrupted is no change."""
    if now.source_topic_id != planned.source_topic_id:
        yield messages.SOURCE_TOPIC_RECREATED()
    if now.stream_id != planned.stream_id:
        yield messages.STREAM_REPLACED()
    yield from _stale_results(planned, now)
    others = {result.key: result for result in later if result.key in keys and result.operation != operation}
    for key, result in sorted(others.items())[:_NAMED]:
        yield messages.NEWER_RESULT(key=key, origin=result.operation or result.origin)
    if len(others) > _NAMED:
        yield messages.MORE_NEWER_RESULTS(count=len(others) - _NAMED)
    if now.lake_id != planned.lake_id:
        yield messages.LAKE_REPLACED()
    elif now.records != planned.records:
        before, after = (sum(count for count, _ in records.values()) for records in (planned.records, now.records))
        yield messages.LAKE_CHANGED(now=after, before=before)


def _stale_results(planned: InputSnapshot, now: InputSnapshot) -> Iterator[Reason]:
    if now.result_topic_id != planned.result_topic_id:
        yield messages.RESULT_TOPIC_RECREATED()
    elif now.results.keys() != planned.results.keys():
        # Keys are in other partitions then: the latest of a key can no longer be told by its offset.
        yield messages.RESULT_PARTITIONS_CHANGED(now=len(now.results), before=len(planned.results))
    else:
        for partition, (_, end) in sorted(planned.results.items()):
            if (earliest := now.results[partition][0]) > end:
                yield messages.RESULTS_EXPIRED(first=end, last=earliest - 1, partition=partition)
