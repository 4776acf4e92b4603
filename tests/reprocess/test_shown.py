"""A result in a few words. Pure."""

from __future__ import annotations

import pytest

from anabranch.reprocess.shown import short_key, short_value

WINDOW = '"window":{"start":"2025-09-04T07:00:00.000Z","end":"2025-09-04T07:10:00.000Z"}'
KEY = '{"window_start":"2025-09-04T07:00:00.000Z","customer":"Ada"}'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (f'{{{WINDOW},"count":1234}}', "1,234"),
        # A number alone tells more than its name, and a field of the key nothing.
        (f'{{{WINDOW},"customer":"Ada","count":3,"last":"07:09"}}', "3"),
        (f'{{{WINDOW},"customer":"Ada","revenue":70.50,"orders":9}}', "revenue 70.50, orders 9"),
        (f'{{{WINDOW},"ok":true,"page":null,"tags":["a"]}}', 'ok true, page null, tags ["a"]'),
        ('{"count":1e999999999}', "1E+999999999"),
        # Nothing is left, or it is no object: all of it.
        (f"{{{WINDOW}}}", f"{{{WINDOW}}}"),
        ("9", "9"),
        ("", ""),
        ("no JSON", "no JSON"),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_what_stands_beside_its_window_and_key(value: str, shown: str) -> None:
    assert short_value(value, KEY) == shown


def test_a_key_is_its_values_with_or_without_its_window() -> None:
    assert short_key(KEY, with_window=False) == "Ada"
    assert short_key(KEY, with_window=True) == "2025-09-04T07:00:00.000Z, Ada"
    assert short_key('{"window_start":"2025-09-04T07:00:00.000Z"}', with_window=False) == ""
    assert short_key('{"id":4999,"page":null}', with_window=False) == "4999, null"
    assert short_key("not ours", with_window=True) == "not ours"
