"""Keys and values of a query's state after a batch, by Spark's own state reader. Any checkpoint that this Spark can read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.text.exceptions import summary_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

# Rows for people from state that holds many keys in a value: from each of its keys with its value.
Unpack = Callable[[Iterable[tuple[Any, Any]]], Iterable[Mapping[str, Any]]]


def check_batch_has_state(checkpoint: Checkpoint, batch: int | None) -> int:
    """The batch after which the state is read: the newest that is committed, unless another is asked for."""
    if not checkpoint.operators:
        raise messages.NO_STATE()
    newest = checkpoint.commits.newest
    if newest is None:
        raise messages.NO_COMMIT()
    wanted = newest if batch is None else batch
    for operator in checkpoint.operators:
        for store in operator.stores:
            if (trouble := checkpoint.state_trouble(store, wanted + 1)) is not None:
                what = messages.IN_STORE(store=store.label, what=trouble.what)
                raise messages.STATE_UNREADABLE(batch=wanted, what=what)
    return wanted


def state_rows(
    spark: SparkSession, checkpoint: str, unpack: Unpack | None, batch: int, log_file: str
) -> Iterator[Mapping[str, Any]]:
    """The state as rows for people: one for each key, or as its pipeline unpacks it."""
    try:
        entries = read_state(spark, checkpoint, batch)
        if unpack is not None:
            yield from unpack((entry.key, entry.value) for entry in entries)
        else:
            yield from map(asdict, entries)
    except Exception as error:
        raise messages.STATE_READER_FAILED(reason=summary_of(str(error)), log=log_file) from None


@dataclass(frozen=True)
class Entry:
    operator: int
    # The store of an operator, a variable of transformWithState, or a side of a join.
    store: str
    key: Any
    value: Any


def read_state(spark: SparkSession, checkpoint: str, batch: int) -> Iterator[Entry]:
    """The state after this batch."""
    # The reader needs the coordinator of state stores, which the query manager starts when it is first called.
    spark.streams.resetTerminated()
    for operator in _operators(spark, checkpoint, batch):
        for store, options in _stores(operator):
            reader = spark.read.format("statestore").option("batchId", batch).option("operatorId", operator.operatorId)
            yield from _entries(operator.operatorId, store, reader.options(**options).load(checkpoint))


def _operators(spark: SparkSession, checkpoint: str, batch: int) -> list[Row]:
    """As they were at this batch: a later version of a pipeline may keep another state."""
    found = spark.read.format("state-metadata").option("batchId", batch).load(checkpoint)
    wanted = found.select("operatorId", "operatorName", "operatorProperties").distinct().orderBy("operatorId")
    return wanted.collect()


def _stores(operator: Row) -> Iterator[tuple[str, dict[str, str]]]:
    """What the reader must be told: transformWithState has variables, a join has sides, the others one store."""
    variables = json.loads(operator.operatorProperties or "{}").get("stateVariables", [])
    for variable in variables:
        name = str(variable["stateName"])
        if not name.startswith("$"):  # those are Spark's own: timers, counters
            yield name, {"stateVarName": name}
    if operator.operatorName == "symmetricHashJoin":
        # By the store, not by `joinSide`: of a join on two columns that fails with an index out of bounds (seen on 4.2.0).
        yield from ((side, {"storeName": f"{side}-keyWithIndexToValue"}) for side in ("left", "right"))
    elif not variables:
        yield "default", {}


def _entries(operator: int, store: str, frame: DataFrame) -> Iterator[Entry]:
    """A list or a map of transformWithState has columns of its own; all that is not the key is the value."""
    from pyspark.sql import functions as F

    values = [name for name in frame.columns if name not in ("partition_id", "key", "change_type", "batch_id")]
    value = F.to_json(F.struct(*values)) if values != ["value"] else F.to_json("value")
    # Of a frame's own iterator Spark keeps all that it has brought (spark/rows.py).
    for row in frame.select(F.to_json("key"), value).rdd.toLocalIterator():
        yield Entry(operator, store, json.loads(row[0]), json.loads(row[1] or "null"))
