"""The codes in a reason and in those among its parameters: what tests match, since words may be reworded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from anabranch.errors import Reason


def codes_in(*reasons: Reason) -> list[str]:
    return [reason.code for reason in flattened(reasons)]


def flattened(values: Iterable[Any]) -> Iterator[Reason]:
    for value in values:
        if isinstance(value, Reason):
            yield value
            yield from flattened(value.params.values())
        elif isinstance(value, list | tuple):
            yield from flattened(value)


def param(name: str, *reasons: Reason) -> Any:
    """The first parameter of this name."""
    return next(reason.params[name] for reason in flattened(reasons) if name in reason.params)
