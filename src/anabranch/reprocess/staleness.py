"""What a reprocess plan stood on, and whether that has moved since. Pure.

Precise on purpose: a stream that goes on, results of other keys, a lake that grows elsewhere or is compacted move nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

# So many keys are named; a reader wants to know which, not to scroll.
_NAMED = 3


@dataclass(frozen=True)
class InputSnapshot:
    """The fingerprint of what a plan saw, as far as its results depend on it or would overwrite it."""

    # A topic that is deleted and made again has another id.
    source_topic_id: str
    result_topic_id: str
    # Partition -> the half-open range of offsets that the result topic held.
    results: Mapping[int, tuple[int, int]]
    # The id of the stream's query: a checkpoint that was set aside and begun anew has another.
    stream_id: str
    lake_id: str
    # Of the range's usable visits in the lake: partition -> how many, and the offset of the last one.
    visits: Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class LaterResult:
    """A result that came after those which a plan saw."""

    key: str
    origin: str
    operation: str | None


def stale_inputs(
    seen: InputSnapshot, now: InputSnapshot, later: Sequence[LaterResult], *, keys: Collection[str], operation: str
) -> Iterator[str]:
    """In words, all that moved under a plan for these keys. What its own operation sent before it was cut is no movement."""
    if now.source_topic_id != seen.source_topic_id:
        yield "the source topic was deleted and made again"
    if now.stream_id != seen.stream_id:
        yield "the stream runs on another checkpoint"
    yield from _moved_results(seen, now)
    others = {result.key: result for result in later if result.key in keys and result.operation != operation}
    for key, result in sorted(others.items())[:_NAMED]:
        yield f"{key} has a newer result, from {result.operation or result.origin}"
    if len(others) > _NAMED:
        yield f"so have {len(others) - _NAMED:,} more keys"
    if now.lake_id != seen.lake_id:
        yield "the lake is another table"
    elif now.visits != seen.visits:
        had, has = (sum(count for count, _ in visits.values()) for visits in (seen.visits, now.visits))
        yield f"the lake has {has:,} visits of these windows, and had {had:,}"


def _moved_results(seen: InputSnapshot, now: InputSnapshot) -> Iterator[str]:
    if now.result_topic_id != seen.result_topic_id:
        yield "the topic of the results was deleted and made again"
    elif now.results.keys() != seen.results.keys():
        # Keys lie elsewhere then: the latest of a key can no longer be told by its offset.
        yield f"the topic of the results has {len(now.results)} partitions, and had {len(seen.results)}"
    else:
        for partition, (_, end) in sorted(seen.results.items()):
            if (earliest := now.results[partition][0]) > end:
                yield f"results {end} to {earliest - 1} of partition {partition} are gone, and nobody has seen them"
