"""Questions to a Delta table, answered by deltalake's own engine, which knows deletion vectors.

Never by a scan of pyarrow's: its threads read through Python, and abort it at its exit every now and then ("terminate called
without an active exception").
"""

from __future__ import annotations

from datetime import datetime

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder


def ask(table: DeltaTable, question: str) -> pa.Table:
    """The table's name in the question is `held`; values stand in it by the functions below."""
    return pa.table(QueryBuilder().register("held", table).execute(question))


def text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def moment(value: datetime) -> str:
    # In the unit of Delta's times: as a plain TIMESTAMP it would be one of nanoseconds, which have no year 9999.
    return f"arrow_cast({text(value.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
