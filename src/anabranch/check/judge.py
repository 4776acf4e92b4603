"""Compares what a pipeline declares with what Spark's plan says. Pure: from values to findings, without their lines.

Names of Catalyst's classes are matched: they are in plans of Spark 4.2.0, which tests build.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from anabranch.check import messages
from anabranch.check.findings import Level
from anabranch.check.plan import Operator, PlannedTransform
from anabranch.errors import Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Results, Sink, Table
from anabranch.text.suggest import did_you_mean

# Catalyst's class -> the names under which users call it: the first is shown, and all are looked for in the file.
CLOCKS = {
    "CurrentTimestamp": ("current_timestamp", "unix_timestamp"),
    "Now": ("now",),
    "CurrentDate": ("current_date", "curdate"),
    "CurrentTime": ("current_time",),
    "LocalTimestamp": ("localtimestamp",),
}
RANDOMS = {
    "Rand": ("rand", "random"),
    "Randn": ("randn",),
    "Uuid": ("uuid",),
    "RandStr": ("randstr",),
    "Uniform": ("uniform",),
    "Shuffle": ("shuffle",),
    "MonotonicallyIncreasingID": ("monotonically_increasing_id",),
    "SparkPartitionID": ("spark_partition_id",),
}
ORDERED = {
    "First": ("first", "first_value", "any_value"),
    "Last": ("last", "last_value"),
    "AnyValue": ("any_value",),
    "CollectList": ("collect_list", "array_agg"),
    "CollectSet": ("collect_set",),
    "ListAgg": ("listagg", "string_agg"),
}
# Behind it the order of a list does not matter.
_SORTED = ("SortArray", "ArraySort")
SUMS = {
    "Sum": ("sum",),
    "Average": ("avg", "mean"),
    "StddevSamp": ("stddev", "stddev_samp", "std"),
    "StddevPop": ("stddev_pop",),
    "VarianceSamp": ("variance", "var_samp"),
    "VariancePop": ("var_pop",),
}
_FLOATS = ("double", "float")
_DEDUPLICATE = ("Deduplicate", "DeduplicateWithinWatermark", "Distinct")
_OF_ONE_BATCH = ("FlatMapGroupsInPandas", "FlatMapGroupsInArrow", "FlatMapCoGroupsInPandas", "FlatMapCoGroupsInArrow")
# What a Delta table and JSON cannot hold.
_UNWRITABLE = {"table": ("void", "interval", "variant"), "topic": ("interval",)}


@dataclass(frozen=True)
class Judged:
    reason: Reason
    # What is looked for in the user's file, for the line; none: the function itself.
    names: tuple[str, ...] = ()
    level: Level = "finding"


def judge(pipeline: Pipeline, planned: PlannedTransform) -> list[Judged]:
    if not planned.is_streaming and not pipeline.per_batch:
        return [Judged(messages.RESULT_NOT_STREAMING(pipeline=pipeline.name))]
    found = [*_columns(pipeline, planned), *_watermarks(pipeline, planned.plan)]
    if not pipeline.per_batch:
        found += _state(pipeline, planned)
    if pipeline.is_recomputable:
        found += [*_recomputable(pipeline, planned), *_expressions(pipeline, planned)]
    return found


def _columns(pipeline: Pipeline, planned: PlannedTransform) -> Iterator[Judged]:
    columns, sink = [name for name, _ in planned.columns], pipeline.sink
    for name in pipeline.grouping:
        if name not in columns:
            suggestion = _nearest(name, columns)
            yield Judged(messages.KEY_NOT_IN_RESULT(pipeline=pipeline.name, name=name, suggestion=suggestion))
    seen: set[str] = set()
    for name, type_ in planned.columns:
        if name.lower() in seen:
            yield Judged(messages.COLUMN_TWICE(pipeline=pipeline.name, name=name), (name,))
        seen.add(name.lower())
        if any(part in type_ for part in _UNWRITABLE.get(sink.kind, ())):
            about = {"pipeline": pipeline.name, "name": name, "type": type_, "kind": sink.kind}
            yield Judged(messages.COLUMN_WITHOUT_TYPE(**about), (name,))
    for name in _partitions(sink):
        if name not in columns:
            suggestion = _nearest(name, columns)
            yield Judged(messages.PARTITION_COLUMN_MISSING(pipeline=pipeline.name, name=name, suggestion=suggestion))


def _partitions(sink: Sink) -> tuple[str, ...]:
    return sink.partition_by if isinstance(sink, Table) else ()


def _nearest(name: str, columns: Collection[str]) -> str:
    return did_you_mean(name, columns) or f"its columns: {', '.join(columns)}"


def _watermarks(pipeline: Pipeline, plan: Operator) -> Iterator[Judged]:
    declared = len(pipeline.topics) if pipeline.watermark_s is not None else 0
    if sum(operator.kind == "EventTimeWatermark" for operator in plan.walk()) > declared:
        yield Judged(messages.OWN_WATERMARK(pipeline=pipeline.name), ("withWatermark",))


def _state(pipeline: Pipeline, planned: PlannedTransform) -> Iterator[Judged]:
    kinds = [operator.kind for operator in _stateful(planned.plan)]
    if kinds and pipeline.watermark_s is None:
        yield Judged(messages.STATE_UNBOUNDED(pipeline=pipeline.name, operators=_named(kinds)))
        return
    evicting = _derived(planned.plan, planned.windows | planned.event_times)
    for operator in _stateful(planned.plan):
        if operator.kind == "Aggregate" and not _groups_by(operator, evicting) and not pipeline.is_recomputable:
            yield Judged(messages.STATE_NOT_EVICTED(pipeline=pipeline.name), ("groupBy", "agg"), "warning")
    yield from _coarse_key(pipeline, planned)


def _coarse_key(pipeline: Pipeline, planned: PlannedTransform) -> Iterator[Judged]:
    """The topmost aggregate says how many results there are."""
    top = next(iter(_stateful(planned.plan)), None)
    if not isinstance(pipeline.sink, Results) or not pipeline.grouping or top is None or top.kind != "Aggregate":
        return
    columns = {name for name, _ in planned.columns}
    if not columns.issuperset(pipeline.grouping):
        return
    lacking = [one.name for one in top.grouping if one.name in columns and one.name not in pipeline.grouping]
    if lacking:
        yield Judged(messages.KEY_TOO_COARSE(pipeline=pipeline.name, columns=lacking))


def _recomputable(pipeline: Pipeline, planned: PlannedTransform) -> Iterator[Judged]:
    plan = planned.plan
    free = [operator.kind for operator in _stateful(plan) if operator.kind != "Aggregate"]
    if free:
        yield Judged(messages.FREE_STATE(pipeline=pipeline.name, operators=_named(free)))
    windows = _derived(plan, planned.windows)
    if any(operator.kind == "Aggregate" and not _groups_by(operator, windows) for operator in _stateful(plan)):
        yield Judged(messages.ACROSS_WINDOWS(pipeline=pipeline.name), ("groupBy", "agg"))
    if grouped := [operator.kind for operator in plan.walk() if operator.kind in _OF_ONE_BATCH]:
        yield Judged(messages.BATCH_DEPENDENT(pipeline=pipeline.name, operators=grouped), ("applyInPandas", "applyInArrow"))


def _expressions(pipeline: Pipeline, planned: PlannedTransform) -> Iterator[Judged]:
    name = pipeline.name
    seen: set[str] = set()
    found = list(_each_once(planned.plan, seen))
    for kind, type_, called in found:
        what = f"{called[0]}()"
        if kind in CLOCKS:
            yield Judged(messages.CLOCK(pipeline=name, what=what), called)
        elif kind in RANDOMS or kind.startswith("Python"):
            yield Judged(messages.RANDOM(pipeline=name, what=what), called)
        elif kind in ORDERED:
            yield Judged(messages.ORDER_DEPENDENT(pipeline=name, what=what), called)
        else:
            yield Judged(messages.FLOAT_SUM(pipeline=name, what=what, type=type_), called, "warning")
    if planned.changes and not seen & {*CLOCKS, *RANDOMS}:
        yield Judged(messages.PLAN_CHANGES(pipeline=name), ("now", "time", "random", "uuid4", "today"))


def _each_once(plan: Operator, seen: set[str]) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """The kinds of expressions that are judged, each once: its kind, the type that it sums, and its names."""
    for operator in plan.walk():
        for top in operator.expressions:
            sorted_lists = {id(below) for one in top.walk() if one.kind in _SORTED for below in one.walk()}
            for one in top.walk():
                called = {**CLOCKS, **RANDOMS, **ORDERED, **SUMS}.get(one.kind)
                if one.kind.startswith("Python") and not one.is_deterministic:
                    called = ("asNondeterministic",)
                if called is None or one.kind in seen or (one.kind in ORDERED and id(one) in sorted_lists):
                    continue
                if one.kind in SUMS and one.type not in _FLOATS:
                    continue
                seen.add(one.kind)
                yield one.kind, one.type, called


def _stateful(plan: Operator) -> Iterator[Operator]:
    for operator in plan.walk():
        streams = sum(child.is_streaming for child in operator.children)
        is_join = "Join" in operator.kind and streams > 1
        is_kept = operator.kind in ("Aggregate", *_DEDUPLICATE) or "WithState" in operator.kind
        if operator.is_streaming and (is_join or is_kept):
            yield operator


def _named(kinds: list[str]) -> list[str]:
    return list(dict.fromkeys(kind[0].lower() + kind[1:] for kind in kinds))


def _derived(plan: Operator, ids: Collection[int]) -> set[int]:
    """With the columns that are nothing but other names of these, or fields of them."""
    known = set(ids)
    aliases = [one for operator in plan.walk() for top in operator.expressions for one in top.walk() if one.kind == "Alias"]
    for alias in reversed(aliases):
        below = list(alias.walk())[1:]
        if alias.id is not None and below and below[-1].id in known and all(len(one.children) <= 1 for one in below):
            known.add(alias.id)
    return known


def _groups_by(operator: Operator, ids: Collection[int]) -> bool:
    return any(part.id in ids for one in operator.grouping for part in one.walk())
