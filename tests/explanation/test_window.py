"""Which window a time means: any time in it, or of windows that overlap its begin alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from anabranch.errors import Misused
from anabranch.explanation.window import window_start_ms
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.definition import find_pipeline
from anabranch.text.format import iso_utc

TUMBLING = find_pipeline(BUILTIN.pipelines, "visits-counter")
SLIDING = TUMBLING.changed(slide_s=300.0)


def begin(text: str, *, sliding: bool = False) -> str:
    return iso_utc(window_start_ms(SLIDING if sliding else TUMBLING, datetime.fromisoformat(text)))


@pytest.mark.parametrize(
    "text",
    ["2025-09-04T07:10:00Z", "2025-09-04T07:13:00Z", "2025-09-04T07:19:59.999999Z", "2025-09-04T09:15:00+02:00"],
)
def test_any_time_of_a_window_means_the_one_that_it_is_in(text: str) -> None:
    assert begin(text) == "2025-09-04T07:10:00Z"


def test_a_time_before_1970_is_in_the_window_that_begins_before_it() -> None:
    assert begin("1969-12-31T23:59:00Z") == "1969-12-31T23:50:00Z"


def test_of_windows_that_overlap_a_begin_means_the_one_that_begins_then() -> None:
    assert begin("2025-09-04T07:05:00Z", sliding=True) == "2025-09-04T07:05:00Z"


def test_any_other_time_of_them_is_refused_with_the_windows_that_have_it() -> None:
    with pytest.raises(Misused) as refused:
        begin("2025-09-04T07:13:00Z", sliding=True)
    assert (refused.value.code, refused.value.reason.params["count"]) == ("window-ambiguous", 2)
    assert refused.value.remedies == tuple(
        f"anabranch explain visits-counter --window 2025-09-04T07:{minute}:00Z" for minute in ("05", "10")
    )


def test_a_begin_and_a_bit_is_no_begin() -> None:
    with pytest.raises(Misused) as refused:
        begin("2025-09-04T07:05:00.000001Z", sliding=True)
    assert refused.value.code == "window-ambiguous"


@pytest.mark.parametrize("moment", [datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC) + timedelta(days=2)])
def test_a_window_that_no_calendar_has_all_of_is_refused(moment: datetime) -> None:
    long = TUMBLING.changed(window_s=7 * 86_400.0)
    with pytest.raises(Misused) as refused:
        window_start_ms(long, moment)
    assert refused.value.code == "no-such-window"
