"""Spark's plan of a transformation, as values: as much of it as is judged. read_plan.py makes them of Spark's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Expression:
    # Catalyst's class, without its package.
    kind: str
    # Of a column or an alias.
    name: str = ""
    id: int | None = None
    # As DDL writes it; of what is summed only.
    type: str = ""
    is_deterministic: bool = True
    children: tuple[Expression, ...] = ()

    def walk(self) -> Iterator[Expression]:
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Operator:
    kind: str
    expressions: tuple[Expression, ...] = ()
    # Of an aggregate: what it groups by.
    grouping: tuple[Expression, ...] = ()
    is_streaming: bool = True
    children: tuple[Operator, ...] = ()

    def walk(self) -> Iterator[Operator]:
        """Its results first."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class PlannedTransform:
    """What the function makes of empty streams."""

    plan: Operator
    # Of its result, with types as DDL writes them.
    columns: tuple[tuple[str, str], ...]
    # The ids of the columns that Anabranch adds: the declared window, and the event time of each topic.
    windows: frozenset[int] = frozenset()
    event_times: frozenset[int] = frozenset()
    is_streaming: bool = True
    # Built a second time, it is another one.
    changes: bool = field(default=False)
