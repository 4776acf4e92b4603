"""The good name that a wrong one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(wrong: str, good: Iterable[str]) -> str | None:
    matches = get_close_matches(wrong, list(good), n=1, cutoff=0.5)
    return matches[0] if matches else None


def did_you_mean(wrong: str, good: Iterable[str]) -> str:
    """A way out for an unknown name: the nearest good one, or all of them."""
    names = sorted(good)
    if (match := nearest(wrong, names)) is not None:
        return f"did you mean {match}?"
    return f"there is: {', '.join(names)}" if names else "there is none yet"
