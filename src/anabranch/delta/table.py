"""Questions to a Delta table, answered by deltalake's own engine, which knows deletion vectors; changes beside other writers.

Never by a scan of pyarrow's: its threads read through Python, and abort it at its exit every now and then ("terminate called
without an active exception").
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import CommitFailedError, DeltaError, TableNotFoundError

from anabranch.errors import Failed

Result = TypeVar("Result")
# How often a change is tried beside writers that never rest.
_TURNS = 20


def open_table(path: str | Path, version: int | None = None, *ways: str) -> DeltaTable | None:
    """None: there is no table."""
    try:
        with readable(path, *ways):
            return DeltaTable(path, version=version)
    except TableNotFoundError:
        return None


def ask(table: DeltaTable, question: str, *ways: str) -> pa.Table:
    """The table's name in the question is `held`; values stand in it by the functions below."""
    with readable(unquote(table.table_uri).removeprefix("file://").rstrip("/"), *ways):
        return pa.table(QueryBuilder().register("held", table).execute(question))


@contextmanager
def readable(path: str | Path, *ways: str) -> Iterator[None]:
    """Says it where the log is none, or names a file that nobody has. `ways`: what to do then, if not the usual."""
    try:
        yield
    except (TableNotFoundError, CommitFailedError):
        raise
    except (OSError, DeltaError, pa.ArrowException) as error:
        ways = ways or (
            "put back what is missing or broken there, from a copy",
            f"without one: mv {path} aside, and its query's checkpoint with it; the next run reads what Kafka still has",
        )
        raise Failed(f"the table at {path} cannot be read: {str(error).splitlines()[0]}.", *ways) from None


def retry_on_conflict(path: str | Path, change: Callable[[], Result]) -> Result:
    """Of two that change a table at once one fails, as it must. It opens the table again, and decides anew."""
    for _ in range(_TURNS):
        try:
            return change()
        except CommitFailedError:
            continue
    raise Failed(
        f"others change the table at {path} all the time: in {_TURNS} attempts no commit of ours came through.",
        "let them end, then the same again; anabranch operations names what was begun and is not finished",
    )


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def moment(value: datetime) -> str:
    # In the unit of Delta's times: as a plain TIMESTAMP it would be one of nanoseconds, which have no year 9999.
    return f"arrow_cast({text(value.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
