"""What a repair sends, from what an audit found. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, cast, get_args

from anabranch.audit.verdict import Audit
from anabranch.errors import Reason
from anabranch.repair import messages
from anabranch.reprocess.plan import Change

# What can be repaired: for a result that is unexpected the lake gives none to send instead.
Repairable = Literal["late", "missing", "different"]
EVERY: tuple[Repairable, ...] = get_args(Repairable)


def parse_classes(text: str) -> tuple[Repairable, ...]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names or [text]:
        if name not in EVERY:
            raise messages.UNKNOWN_CLASS(name=name)
    return tuple(cast(Repairable, name) for name in dict.fromkeys(names))


def changes_of(found: Iterable[Mapping[str, Any]], only: Iterable[Repairable]) -> Iterator[tuple[str, Change]]:
    """Each result that is sent, with the begin of its window. `found`: the lines that an audit has kept."""
    wanted = set(only)
    for one in found:
        if one["class"] in wanted and one["should_be"] is not None:
            yield one["window"]["start"], Change(one["key"], one["emitted"], one["should_be"])


def left_alone(audit: Audit, only: Iterable[Repairable]) -> Iterator[Reason]:
    """What is wrong and not repaired."""
    for name in EVERY:
        count = audit.verdict.results.get(name, 0)
        if count and name not in only:
            yield messages.NOT_REPAIRED(count=count, name=name, are="is" if count == 1 else "are")
    if count := audit.verdict.results.get("unexpected", 0):
        yield messages.NEVER_REPAIRED(count=count, are="is" if count == 1 else "are")
