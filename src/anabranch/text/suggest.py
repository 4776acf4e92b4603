"""Suggests the known name that an unknown one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(unknown: str, known: Iterable[str]) -> str | None:
    matches = get_close_matches(unknown, list(known), n=1, cutoff=0.5)
    return matches[0] if matches else None


def did_you_mean(unknown: str, known: Iterable[str]) -> str:
    """A remedy for an unknown name: the nearest known name, or all of them."""
    names = sorted(known)
    return nearest_of_many(unknown, names) or (f"available: {', '.join(names)}" if names else "none exist yet")


def nearest_of_many(unknown: str, known: Iterable[str]) -> str:
    """The same where there may be more than a person would read: nothing, if no name is near."""
    return "" if (match := nearest(unknown, known)) is None else f"did you mean {match}?"
