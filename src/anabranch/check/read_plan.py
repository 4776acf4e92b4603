"""Reads Spark's analyzed plan of a frame into values. A call to the JVM for each part: the plan must be a small one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from anabranch.check.judge import SUMS
from anabranch.check.plan import Expression, Operator

_NAMED = ("AttributeReference", "Alias")


def read_plan(frame: DataFrame) -> Operator:
    return _operator(_analyzed(frame))


def ids_of(frame: DataFrame, name: str) -> set[int]:
    """Of the columns of this name."""
    return {column.exprId().id() for column in _each(_analyzed(frame).output()) if column.name() == name}


def text_of(frame: DataFrame) -> str:
    """The same for two plans that differ only in the numbers that Spark gives to columns."""
    return re.sub(r"#\d+L?", "", _analyzed(frame).canonicalized().toString())


def _analyzed(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()


def _operator(node: Any) -> Operator:
    kind = node.getClass().getSimpleName()
    return Operator(
        kind=kind,
        expressions=tuple(map(_expression, _each(node.expressions()))),
        grouping=tuple(map(_expression, _each(node.groupingExpressions()))) if kind == "Aggregate" else (),
        is_streaming=node.isStreaming(),
        children=tuple(map(_operator, _each(node.children()))),
    )


def _expression(node: Any) -> Expression:
    kind = node.getClass().getSimpleName()
    is_named = kind in _NAMED
    return Expression(
        kind=kind,
        name=node.name() if is_named else "",
        id=node.exprId().id() if is_named else None,
        type=_summed_type(node) if kind in SUMS else "",
        is_deterministic=node.deterministic() if kind.startswith("Python") else True,
        children=tuple(map(_expression, _each(node.children()))),
    )


def _summed_type(node: Any) -> str:
    try:
        return str(node.children().apply(0).dataType().simpleString())
    except Py4JError:
        return ""


def _each(sequence: Any) -> Iterator[Any]:
    return (sequence.apply(number) for number in range(sequence.size()))
