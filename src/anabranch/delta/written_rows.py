"""What batches wrote to a Delta table, as a value: rows by their offsets, or versions; and the transaction that Delta knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# What identifies a record of Kafka: a table without these columns cannot be rewound by offsets.
COORDINATES = ("topic", "partition", "offset")


@dataclass(frozen=True)
class WrittenRows:
    table: str
    # The rewind that deletes them: its mark in the table's log tells whether they are deleted or there.
    rewind: str
    query_id: str
    # Topic -> partition -> the half-open range of offsets.
    ranges: Mapping[str, Mapping[str, tuple[int, int]]]
    count: int
    # The table's version when the plan was made.
    version: int
    # The newest batch that Delta has of the query, and the one it is set back to: it skips what it has seen
    # (docs/internals/hazards.md, G).
    newest: int
    set_back_to: int


@dataclass(frozen=True)
class WrittenVersions:
    """Of a table whose rows do not say which records they are from: the versions behind the one that is kept."""

    table: str
    # As above.
    rewind: str
    query_id: str
    # The last version before those that the batches wrote; -1: their first one has created the table.
    kept: int
    count: int
    version: int
    newest: int
    set_back_to: int


Written = WrittenRows | WrittenVersions
