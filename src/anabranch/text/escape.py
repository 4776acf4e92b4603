"""Escapes text that comes from outside before it reaches a terminal.

A control character could move the cursor, change colours or reverse the line.
"""

from __future__ import annotations

import json


def escape_control_chars(text: str) -> str:
    """Escapes every character that is not printable (control, format, private, unassigned), except a tab."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\t" else _escape(char) for char in text)


def escape_lines(text: str) -> str:
    """The same for text whose line breaks are our own: they are kept."""
    return "\n".join(map(escape_control_chars, text.split("\n")))


def escaped_json(value: object, indent: int | None = None) -> str:
    """JSON of the same value. Characters that are not printable occur only in its strings, and are escaped there."""
    lines = json.dumps(value, ensure_ascii=False, indent=indent).split("\n")
    return "\n".join(line if line.isprintable() else _escaped_in_json(line) for line in lines)


def _escaped_in_json(line: str) -> str:
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in line)


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
