"""Queries of a Delta table by deltalake's own engine, which knows deletion vectors; and changes beside other writers.

Never by a scan of pyarrow's: its threads read through Python, and sometimes abort it at its exit ("terminate called without
an active exception").
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

from anabranch.delta import messages
from anabranch.errors import Failed, Reason

T = TypeVar("T")
# How often a change is tried beside writers that never pause.
_ATTEMPTS = 20


def open_table(path: str | Path, version: int | None = None, unreadable: Failed | None = None) -> DeltaTable | None:
    """None: there is no table. `unreadable`: what to say where it cannot be read, if not the usual."""
    try:
        with readable(path, unreadable):
            return DeltaTable(path, version=version)
    except TableNotFoundError:
        return None


def query(table: DeltaTable, sql: str, unreadable: Failed | None = None) -> pa.Table:
    """The table's name in the query is `held`; values are put into it by the functions below."""
    with readable(unquote(table.table_uri).removeprefix("file://").rstrip("/"), unreadable):
        return pa.table(QueryBuilder().register("held", table).execute(sql))


@contextmanager
def readable(path: str | Path, unreadable: Failed | None = None) -> Iterator[None]:
    """Says so where the log is damaged, or names a file that is missing."""
    try:
        yield
    except (TableNotFoundError, CommitFailedError):
        raise
    except (OSError, DeltaError, pa.ArrowException) as error:
        if unreadable is not None:
            raise unreadable from None
        remedies: list[Reason] = [messages.RESTORE_TABLE(), messages.TABLE_ASIDE(path=str(path))]
        raise messages.TABLE_UNREADABLE(path=str(path), reason=str(error).splitlines()[0], remedies=remedies) from None


def retry_on_conflict(path: str | Path, change: Callable[[], T]) -> T:
    """Of two that change a table at once one fails, as it must. It opens the table again, and decides again."""
    for _ in range(_ATTEMPTS):
        try:
            return change()
        except CommitFailedError:
            continue
    raise messages.TABLE_BUSY(path=str(path), attempts=_ATTEMPTS)


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def moment(value: datetime) -> str:
    # In the unit of Delta's times: as a plain TIMESTAMP it would be one of nanoseconds, which have no year 9999.
    return f"arrow_cast({text(value.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
