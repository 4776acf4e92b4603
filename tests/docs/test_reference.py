"""docs/reference is generated from the code: it is never stale."""

from __future__ import annotations

from tools.reference import REGENERATE, stale


def test_the_reference_is_what_the_code_says() -> None:
    assert stale() == [], f"docs/reference is stale, run: {REGENERATE}"
