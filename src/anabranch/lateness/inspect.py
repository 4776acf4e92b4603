"""One pass over the event times in the lake: which delay the records of a pipeline needed. Changes nothing, starts no Spark.

By what was stored of each record when it came: a record that had a problem then was not counted, whatever the delay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from anabranch.audit.inspect import moment
from anabranch.audit.pins import Pinned, pin
from anabranch.delta.counts import event_times
from anabranch.lateness import messages
from anabranch.lateness.curve import Needs, curve, unit_ms_of
from anabranch.lateness.reach import first_known, reached
from anabranch.lateness.report import Lateness
from anabranch.lateness.tally import Tally
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results
from anabranch.pipeline.windows import Windows, windows_of
from anabranch.project.project import Project
from anabranch.text.format import iso_utc, utc_ms


@dataclass(frozen=True)
class Asked:
    """[start, end) of event times; None: from the first, to the last."""

    start_ms: int | None
    end_ms: int | None


def sent_to(pipeline: Pipeline, topic: str | None) -> Pipeline:
    """The pipeline as sent to a topic, if not to its own sink. Refuses one of which no delay can be told."""
    if pipeline.window_s is None or pipeline.watermark_s is None or pipeline.per_batch:
        raise messages.NO_WINDOWS_CLOSE(pipeline=pipeline.name)
    if len(pipeline.topics) > 1:
        raise messages.SEVERAL_WATERMARKS(pipeline=pipeline.name, topics=list(pipeline.topic_names))
    return pipeline if topic is None else replace(pipeline, sink=Results(topic))


def lateness_of(project: Project, pipeline: Pipeline, asked: Asked) -> tuple[Lateness, Needs]:
    """What is reported, and the needs behind it, for a picture. Refuses what `pin` refuses."""
    windows = windows_of(pipeline)
    wanted = whole_windows(asked, windows)
    pinned = pin(project, pipeline)
    delay_ms = round(pinned.delay_s * 1000)
    newest_ms = {batch: utc_ms(event.at) for batch, event in pinned.ran.newest_events.items()}
    reach = reached(pinned.ran.timeline, newest_ms, delay_ms)
    tally = Tally(pinned.ran.timeline, pinned.begins, reach, windows, unit_ms_of(windows, delay_ms))
    _read(tally, pinned, pipeline, wanted, windows)
    needs = tally.needs(wanted.start_ms, wanted.end_ms)
    found = Lateness(
        pipeline=pipeline.name,
        start=_iso(wanted.start_ms),
        end=_iso(wanted.end_ms),
        lake_version=pinned.lake_version,
        first_batch=first_known(pinned.ran.timeline),
        last_batch=pinned.ran.timeline.last,
        behind=pinned.behind,
        delay_s=pinned.delay_s,
        basis=reach.basis,
        output_mode=pipeline.output_mode,
        records=tally.records,
        windows=needs.windows.total,
        left_out=tally.left_out,
        dropped=tally.dropped,
        delays=tuple(curve(needs, pinned.delay_s)),
    )
    return found, needs


def whole_windows(asked: Asked, windows: Windows) -> Asked:
    """All windows that have a time of the range: from where the first of them begins to where the one behind the last would."""
    start_ms, end_ms = asked.start_ms, asked.end_ms
    if start_ms is not None and end_ms is not None and end_ms <= start_ms:
        raise messages.EMPTY_TIMES(start=iso_utc(start_ms), end=iso_utc(end_ms))
    return Asked(
        None if start_ms is None else windows.first_start_ms(start_ms - windows.length_ms + 1),
        None if end_ms is None else windows.first_start_ms(end_ms),
    )


def _read(tally: Tally, pinned: Pinned, pipeline: Pipeline, wanted: Asked, windows: Windows) -> None:
    end_ms = None if wanted.end_ms is None else windows.last_end_ms(wanted.end_ms)
    times = (_moment(wanted.start_ms), _moment(end_ms))
    for partition, offsets, event_us in event_times(pinned.lake, pipeline.topic.name, pinned.lake_version, times):
        tally.add(partition, offsets, event_us // 1000)


def _moment(moment_ms: int | None) -> datetime | None:
    return None if moment_ms is None else moment(moment_ms)


def _iso(moment_ms: int | None) -> str | None:
    return None if moment_ms is None else iso_utc(moment_ms)
