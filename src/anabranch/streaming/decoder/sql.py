"""Pieces of SQL expressions, made of values.

The decoder is written in SQL because Spark reads that at once. Made of PySpark's columns, a thousand calls to
the JVM, it took 0.4 s of every start of a query and of every reprocess.
"""

from __future__ import annotations

from typing import Final

# A record's value, as the source has it.
TEXT: Final = "cast(value AS STRING)"
STRICT: Final = "map('allowSingleQuotes', 'false', 'allowNonNumericNumbers', 'false', 'columnNameOfCorruptRecord', '_corrupt')"


def literal(text: str) -> str:
    """Any text: its quotes and backslashes end nothing."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def regex(pattern: str) -> str:
    """A pattern of ours, letter by letter."""
    assert "'" not in pattern, pattern
    return f"r'{pattern}'"


def first_of(*expressions: str) -> str:
    """The first that is not null."""
    return f"coalesce({', '.join(expressions)})" if len(expressions) > 1 else expressions[0]
