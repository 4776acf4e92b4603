"""Text from outside, made fit for a screen: what would move the cursor, change colours or reverse the line is written out."""

from __future__ import annotations


def harmless(text: str) -> str:
    """Every character that is not printable (control, format, private, unassigned) as an escape; a tab stays."""
    return "".join(char if char.isprintable() or char == "\t" else _escape(char) for char in text)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
