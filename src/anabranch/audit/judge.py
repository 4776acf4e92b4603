"""What is wrong with one result. Pure.

Of each key three values are compared: what was emitted, what should be (by all usable records of the lake), and what was
counted (by those that the stream did not drop). None stands for no result, so one that late records alone would make is late.
"""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from anabranch.reprocess.plan import Compared

Class = Literal["equal", "corrected", "late", "missing", "unexpected", "different"]
# Those that are wrong, in the order in which they are listed.
WRONG: tuple[Class, ...] = ("late", "missing", "unexpected", "different")


def judge(one: Compared, tolerance: float = 0.0) -> Class:
    """`tolerance`: by how much floats of two values may differ, relative to the greater."""
    if same(one.emitted, one.should_be, tolerance):
        return "corrected" if one.operation is not None else "equal"
    if is_explained(one, tolerance):
        return "late"
    if one.emitted is None:
        return "missing"
    return "unexpected" if one.should_be is None else "different"


def is_explained(one: Compared, tolerance: float = 0.0) -> bool:
    """Whether late records alone make the difference. A result that an operation sent lacks those that came after its plan."""
    if one.operation is not None:
        return one.known is not None and same(one.emitted, one.known, tolerance)
    return same(one.emitted, one.counted, tolerance)


def same(one: str | None, other: str | None, tolerance: float = 0.0) -> bool:
    if one == other or one is None or other is None or tolerance == 0.0:
        return one == other
    try:
        return _close(json.loads(one), json.loads(other), tolerance)
    except (ValueError, RecursionError):
        return False


def _close(one: Any, other: Any, tolerance: float) -> bool:
    """Only where one of the two is a float: whole numbers and texts are compared exactly."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(value, other[name], tolerance) for name, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(_close(a, b, tolerance) for a, b in zip(one, other, strict=True))
    if {type(one), type(other)} in ({float}, {int, float}):
        return one == other or math.isclose(one, other, rel_tol=tolerance)
    return type(one) is type(other) and bool(one == other)
