"""Tables that fit any width, figures that say what is known, pictures that show what is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.text.chart import ASCII, axis, bars, slice_length_s, slices
from anabranch.text.layout import Column, cut, figure, lay_out, short_duration

COLUMNS = (Column("name", 8, keeps_end=True), Column("count"), Column("watermark", 11))
NAMES = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=60)
ROWS = st.lists(
    st.tuples(NAMES, st.integers(0, 10**9).map("{:,}".format), st.just("2025-09-04 07:00")),
    min_size=1, max_size=6, unique_by=lambda row: row[0],
)  # fmt: skip


@given(ROWS, st.integers(40, 200), st.sampled_from(["…", "..."]))
def test_no_line_is_wider_than_the_screen_no_number_is_cut_and_no_two_names_look_the_same(
    rows: list[tuple[str, str, str]], width: int, ellipsis: str
) -> None:
    laid = lay_out(COLUMNS, rows, width, ellipsis)
    assert max(map(len, laid.lines)) <= width
    assert len(laid.rows) == len(rows)
    for (_, count, _), lines in zip(rows, laid.rows, strict=True):
        assert count in "\n".join(lines).split()
    if laid.head:
        assert len({lines[0].split("  ")[0] for lines in laid.rows}) == len(rows)


def test_a_table_is_left_as_it_is_then_cut_then_shown_in_blocks() -> None:
    rows = [("visits-counter", "1,203", "2025-09-04 07:00"), ("visits-windows", "7", "2025-09-04 07:10")]
    whole = lay_out(COLUMNS, rows, 40)
    assert whole.lines[1] == "visits-counter  1,203  2025-09-04 07:00"
    assert lay_out(COLUMNS, rows, 33).lines == [
        "name          count  watermark",
        "visits…unter  1,203  2025-09-04…",
        "visits…ndows  7      2025-09-04…",
    ]
    assert lay_out(COLUMNS, rows, 24).lines[:3] == ["visits-counter", "  count      1,203", "  watermark  2025-09-04…"]


def test_names_that_a_cut_would_make_equal_are_shown_in_blocks() -> None:
    rows = [(f"browsers-state{one}-with-a-long-name", "1", "-") for one in ("less", "ful")]
    assert lay_out(COLUMNS, rows, 30).head == []


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (figure(1203), "1,203"),
        (figure(0), "0"),
        (figure(None), "?"),
        (figure(17, at_least=True), "17+"),
        (figure(17, exact=False), "~17"),
        (figure(None, at_least=True, exact=False), "?"),
        (short_duration(0.4), "0s"),
        (short_duration(59.9), "59s"),
        (short_duration(247), "4m"),
        (short_duration(3 * 3600 + 59), "3h"),
        (short_duration(86_400 * 400), "400d"),
        (short_duration(-5), "-5s"),
        (cut("abcdef", 4), "abc…"),
        (cut("abcdefgh", 5, keeps_end=True), "ab…gh"),
        (cut("abcdef", 2, "..."), ".."),
    ],
)
def test_figures_ages_and_cuts_say_what_is_known(shown: str, expected: str) -> None:
    assert shown == expected


def test_a_picture_shows_the_greatest_in_full_anything_at_all_and_what_is_not_known() -> None:
    assert bars([0, 1, 50, 100, None]) == " ▁▄█?"
    assert bars([0, 1, 50, 100, None], ASCII) == " .=@?"
    assert bars([0, 0]) == "  "


def test_figures_fall_into_their_slices_and_one_that_is_not_known_makes_its_slice_unknown() -> None:
    moments = [(100.0, 1), (109.9, 2), (110.0, 4), (125.0, None), (126.0, 8), (99.0, 16), (140.0, 32)]
    assert slices(moments, 100.0, 10, 4) == [19, 4, None, 32]


@given(st.floats(1, 10**9), st.integers(1, 200))
def test_a_period_has_no_more_slices_than_there_is_room_for(period_s: float, most: int) -> None:
    assert period_s / slice_length_s(period_s, most) <= most


def test_slices_have_lengths_that_people_think_in() -> None:
    assert [slice_length_s(period_s, 60) for period_s in (30, 3600, 7200, 86_400, 10 * 86_400)] == [1, 60, 120, 1800, 6 * 3600]


def test_an_axis_has_its_labels_at_the_ends_and_the_last_one_alone_where_there_is_no_room() -> None:
    assert axis("07:00", "08:00", 14) == "07:00    08:00"
    assert axis("07:00", "08:00", 10) == "     08:00"
