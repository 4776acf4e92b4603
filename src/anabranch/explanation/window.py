"""Which window a time means. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from anabranch.audit.windows import EVER
from anabranch.explanation import messages
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.text.format import format_duration, iso_utc

_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
# So many windows are named that overlap in one time.
_MOST_NAMED = 12


def window_start_ms(pipeline: Pipeline, moment: datetime) -> int:
    """When the window begins that has this time. Of windows that slide a time is in several: there it must be their begin."""
    windows, moment_ms = windows_of(pipeline), (moment - _EPOCH) // _MILLISECOND
    starts = windows_with(moment_ms, windows)
    chosen = [moment_ms] if moment_ms in starts and (moment - _EPOCH) % _MILLISECOND == timedelta(0) else starts
    if min(starts) < EVER.start_ms or max(starts) + windows.length_ms >= EVER.end_ms:
        raise messages.NO_SUCH_WINDOW(time=moment.isoformat())
    if len(chosen) > 1:
        raise messages.WINDOW_AMBIGUOUS(
            pipeline=pipeline.name,
            length=format_duration(windows.length_ms / 1000),
            slide=format_duration(windows.slide_ms / 1000),
            count=len(starts),
            time=moment.astimezone(UTC).isoformat().replace("+00:00", "Z"),
            ways=[f"anabranch explain {pipeline.name} --window {iso_utc(one)}" for one in chosen[-_MOST_NAMED:]],
        )
    return chosen[0]


def windows_with(moment_ms: int, windows: Windows) -> range:
    """When each window begins that has this time, the first first."""
    return range(windows.first_start_ms(moment_ms - windows.length_ms + 1), moment_ms + 1, windows.slide_ms)
