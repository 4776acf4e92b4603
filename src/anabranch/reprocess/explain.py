"""A reprocess plan in words. Apply reads the same plan: what is said here is what is done."""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.errors import counted
from anabranch.reprocess.plan import Change, ReprocessPlan
from anabranch.reprocess.shown import short_key, short_value
from anabranch.reprocess.tally import MOST_NAMED

# Results shown, those that change first.
_MOST_SHOWN = 20


def explain_reprocess(plan: ReprocessPlan) -> Iterator[str]:
    windows = counted(plan.windows, "window")
    yield f"{plan.kind.capitalize()} {plan.pipeline}: {plan.range.describe()}, {windows}   {plan.operation}"
    if plan.range != plan.asked:
        yield f"  widened to whole windows; asked for was {plan.asked.describe()}"
    yield f"  from the lake {plan.lake}, version {plan.lake_version}: {plan.files} files, {plan.rows:,} rows"
    sent = (
        f"{_results(plan)}, {plan.changed:,} of them changed"
        if plan.results
        else "nothing, the lake has no usable record of them"
    )
    yield f"  to topic {plan.topic}: {sent}"
    changed_first = sorted(plan.changes, key=lambda change: change.before == change.after)
    for change in sorted(changed_first[:_MOST_SHOWN], key=lambda change: change.key):
        yield f"    {_short(change)}"
    if plan.results > _MOST_SHOWN:
        yield f"    and {plan.results - _MOST_SHOWN:,} more: --json shows the first {MOST_NAMED:,}"
    yield from _unexpected(plan)
    yield "  the running query is not touched; readers that keep the latest result of each key see the new ones"


def _unexpected(plan: ReprocessPlan) -> Iterator[str]:
    if plan.unexpected_results:
        results = counted(plan.unexpected_results, "result")
        yield f"  not expected: {results} of windows that the lake has no usable record of;"
        yield "  the topic keeps them, nothing is sent for them"
    for one in plan.unexpected[:_MOST_SHOWN]:
        key, value = short_key(one.key, with_window=True), short_value(one.value, one.key)
        yield f"    {key}  {value} in the topic, no record in the lake"
    if plan.unexpected_results > _MOST_SHOWN:
        yield f"    and {plan.unexpected_results - _MOST_SHOWN:,} more: --json shows the first {MOST_NAMED:,}"


def explain_sent(plan: ReprocessPlan, sent: int) -> Iterator[str]:
    yield f"{sent:,} of {_results(plan)} acknowledged by {plan.topic}. anabranch operations {plan.operation}"


def question(plan: ReprocessPlan) -> str:
    return f"Send {_results(plan)} to {plan.topic}?"


def _results(plan: ReprocessPlan) -> str:
    return counted(plan.results, "result")


def _short(change: Change) -> str:
    key, after = short_key(change.key, with_window=True), short_value(change.after, change.key)
    if change.before == change.after:
        return f"{key}  {after} (unchanged)"
    before = "none" if change.before is None else short_value(change.before, change.key)
    return f"{key}  {before} -> {after}"
