"""Spark keeps the line of a user's file that built an expression, and names it when the expression fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def call_sites_kept() -> Iterator[None]:
    """Of what is built in the block. The session has it switched off: for a decoder it takes most of the time."""
    from pyspark.errors import utils

    # PySpark asks the session once in a process, and keeps the answer here.
    before, utils._enable_debugging_cache = utils._enable_debugging_cache, True  # type: ignore[assignment]
    try:
        yield
    finally:
        utils._enable_debugging_cache = before
