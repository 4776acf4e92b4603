"""Values as pieces of SQL expressions."""

from __future__ import annotations


def literal(text: str) -> str:
    """Any text: its quotes and backslashes end nothing."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
