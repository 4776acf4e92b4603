"""A Delta table: a batch is written once, by its id, however often it runs.

Not by Delta's own streaming sink, which has no gate in front of it (docs/internals/spark-session.md): the same commits, and no
slower.

So a rewind must set the query's transaction back in the same commit that deletes the rows: Delta skips every batch id that it
has seen (docs/internals/hazards.md, G).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.reader import read_query_id
from anabranch.delta.messages import OTHER_WRITER
from anabranch.delta.written_rows import WrittenRows
from anabranch.errors import Reason
from anabranch.operations.change import SinkChange
from anabranch.pipeline.definition import Out, Table
from anabranch.storage.files import CheckpointLocation, Format
from anabranch.streaming import messages
from anabranch.streaming.sinks.base import BatchWriter, QueryRun, RewoundBatches, SinkPolicy, leave, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

ROWS = Format("written-rows", 1, WrittenRows)


class DeltaPolicy(SinkPolicy):
    kind = "table"

    def batch_writer(self, run: QueryRun, out: Out) -> BatchWriter:
        del out
        pipeline = run.pipeline
        assert isinstance(pipeline.sink, Table)
        path, storage = pipeline.sink.path, CheckpointLocation(Path(run.checkpoint)).storage()

        def write(batch: DataFrame, batch_id: int) -> None:
            # By the query's own id: what Delta's streaming sink would write down, and what a rewind sets back.
            options = {"txnAppId": read_query_id(storage), "txnVersion": str(batch_id)}
            writer = batch.write.format("delta").mode("append").partitionBy(*pipeline.partition_by)
            writer.options(**options).save(path)

        return write

    def left_alone(self) -> Reason:
        return messages.TABLE_SKIPS_BATCHES()

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        # deltalake takes half a second to load: only where a table is inspected or changed.
        from anabranch.delta.table import inspect_table

        pipeline, checkpoint, batch = rewound.pipeline, rewound.checkpoint, rewound.batch
        assert isinstance(pipeline.sink, Table)
        path, ranges = pipeline.sink.path, _ranges(checkpoint, batch)
        if checkpoint.query_id is None:
            raise messages.QUERY_ID_MISSING(table=path)
        table = inspect_table(path, checkpoint.query_id, ranges) if ranges else None
        if table is None or table.newest is None or table.newest < batch:
            return leave(self.kind, messages.TABLE_NOT_REACHED(table=path, batch=batch))
        why_not = list(table.why_not)
        if table.rows != table.records:
            why_not.append(OTHER_WRITER(rows=table.rows, records=table.records))
        if why_not:
            raise messages.TABLE_NOT_REWINDABLE(table=path, why=why_not, pipeline=pipeline.name)
        rows = WrittenRows(
            table=path,
            rewind=rewound.operation,
            query_id=checkpoint.query_id,
            ranges=ranges,
            count=table.rows,
            version=table.version,
            newest=table.newest,
            set_back_to=batch - 1,
        )
        about = {"table": path, "rows": rows.count}
        return SinkChange(
            kind=self.kind,
            action="take back",
            effect=messages.ROWS_DELETED(**about, newest=rows.newest, set_back_to=rows.set_back_to),
            undo_effect=messages.ROWS_RESTORED(**about, newest=rows.newest, set_back_to=rows.set_back_to),
            params=ROWS.as_json(rows),
        )

    def take_back(self, params: Mapping[str, Any]) -> None:
        from anabranch.delta.table import delete_rows

        delete_rows(_rows(params))

    def put_back(self, params: Mapping[str, Any]) -> None:
        from anabranch.delta.table import restore_rows

        restore_rows(_rows(params))

    def check_undo(self, params: Mapping[str, Any], operation: str) -> None:
        """A batch may have reached the table and not its commit: the checkpoint does not show it."""
        from anabranch.delta.table import check_rows_are_kept, newest_batch

        rows = _rows(params)
        newest = newest_batch(rows.table, rows.query_id)
        if newest != rows.set_back_to:
            raise messages.TABLE_RAN_AGAIN(operation=operation, batch=newest, table=rows.table)
        check_rows_are_kept(rows)


def _rows(params: Mapping[str, Any]) -> WrittenRows:
    return ROWS.from_json({**ROWS.head, **params}, "the plan's sink")


def _ranges(checkpoint: Checkpoint, batch: int) -> dict[str, dict[str, tuple[int, int]]]:
    """What the batches from this one on have read; empty partitions are left out."""
    begins = checkpoint.start_of(batch)
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for topic, ends in checkpoint.end_of(checkpoint.newest).items():
        for partition, end in ends.items():
            begin = begins.get(topic, {}).get(partition, 0)
            if begin < end:
                found.setdefault(topic, {})[str(partition)] = (begin, end)
    return found


register(DeltaPolicy())
