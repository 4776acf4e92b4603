"""Text from outside, made fit for a screen: what would move the cursor, change colours or reverse the line is written out."""

from __future__ import annotations

import json


def escape_control_chars(text: str) -> str:
    """Every character that is not printable (control, format, private, unassigned) as an escape; a tab stays."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _escape(char) for char in text)


def escape_lines(text: str) -> str:
    """Where its lines are ours."""
    return "\n".join(map(escape_control_chars, text.split("\n")))


def escaped_json(value: object, indent: int | None = None) -> str:
    """The same JSON: what is not printable is in its strings, and is escaped there."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return "\n".join(line if line.isprintable() else _escaped_in_json(line) for line in lines)


def _escaped_in_json(line: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
