"""Ranges of windows: the few that cover many. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.reprocess.plan import Range

# So many at most in one condition: more are put together, with what is between them.
_MOST = 200


def covering(starts: Sequence[int], slide_ms: int, most: int = _MOST) -> list[Range]:
    """Ranges in which all these windows begin, and few others. `starts`: in order."""
    gap_ms = slide_ms
    while True:
        found = merged(starts, slide_ms, gap_ms)
        if len(found) <= most:
            return found
        gap_ms *= 2


def merged(starts: Sequence[int], slide_ms: int, gap_ms: int = 1) -> list[Range]:
    """Ranges in which exactly these windows begin, if the gap is no longer than the slide."""
    found: list[Range] = []
    for start_ms in starts:
        if found and start_ms - found[-1].end_ms < gap_ms:
            found[-1] = Range(found[-1].start_ms, start_ms + slide_ms)
        else:
            found.append(Range(start_ms, start_ms + slide_ms))
    return found


def holds(ranges: Sequence[Range], start_ms: int) -> bool:
    return any(one.holds(start_ms) for one in ranges)
