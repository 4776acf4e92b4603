"""What explain tells of windows of drawn streams, beside the oracle of audits, which applies the law record by record."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from anabranch.explanation.inspect import LakeRecords, explain_window, look_at
from anabranch.text.format import iso_utc
from tests.audit.drawn_projects import write_project
from tests.audit.drawn_streams import Stream, streams
from tests.audit.oracle import Oracle

# Of each stream so many windows are explained.
MOST = 4


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle()


@settings(max_examples=30)
@given(stream=streams(), retained=st.integers(3, 12), skipped=st.integers(0, 5))
def test_a_window_has_the_records_that_the_law_says_counted_and_late(
    stream: Stream, retained: int, skipped: int, oracle: Oracle
) -> None:
    truth = oracle.ask(stream.told())
    with TemporaryDirectory() as directory:
        project, pipeline = write_project(stream, Path(directory) / "project", retained)
        for start_ms, cell in list(truth.windows.items())[skipped : skipped + MOST]:
            look = look_at(project, pipeline, start_ms)
            found = explain_window(project, look, LakeRecords(look))
            assert found.state == "closed"
            assert (found.usable + (found.problems or 0), found.problems) == (cell.in_lake, cell.problems)
            assert (found.counted, found.late, len(found.late_records)) == (cell.counted, cell.late, cell.late)
            event(f"late: {min(cell.late, 2)}")
            closing, told = found.closed_by, truth.closed_by.get(start_ms + stream.windows.length_ms)
            assert closing is not None
            if told is None:
                # It has a result, and no record that the oracle goes by.
                assert cell.counted + cell.late == 0
            else:
                batch, watermark_ms, event_ms = told
                was = (closing.batch, closing.watermark, closing.event_time)
                assert was == (batch, iso_utc(watermark_ms), iso_utc(event_ms))
            assert sum(one.late or 0 for one in found.batches) + found.unread == cell.late
            assert sum(one.counted or 0 for one in found.batches) + found.earlier == cell.counted
