"""The cases, in the order in which they run. A new one is a file here with a `CASE`, and its name in this list."""

from __future__ import annotations

from importlib import import_module

from benchmarks.case import Case

NAMES = (
    *("throughput", "schemas", "small_batch", "latency", "horizon", "take_back", "take_back_memory"),
    *("reprocess", "audit", "many_results", "history", "sessions", "open_visits", "open_visits_bytes"),
)


def load_case(name: str) -> Case:
    """Only the measuring process needs pyspark, but a case is small: both sides load it by its name."""
    case: Case = import_module(f"benchmarks.cases.{name}").CASE
    return case
