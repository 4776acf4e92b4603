"""A Delta table: a batch is written once, by its id, however often it runs.

Not by Delta's own streaming sink, which has no gate in front of it (docs/internals/spark-session.md): the same commits, and no
slower.

So a rewind must set the query's transaction back in the same commit that deletes the rows: Delta skips every batch id that it
has seen (docs/internals/hazards.md, G).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import OffsetRange
from anabranch.checkpoint.reader import read_query_id
from anabranch.delta.messages import OTHER_WRITER
from anabranch.delta.written_rows import WrittenRows
from anabranch.errors import Reason, Refused
from anabranch.operations.change import SinkChange
from anabranch.pipeline.definition import Out, Pipeline, Table
from anabranch.storage.files import CheckpointLocation, Format
from anabranch.streaming import messages
from anabranch.streaming.sinks.base import BatchWriter, QueryRun, RewoundBatches, SinkPolicy, leave, register
from anabranch.streaming.startable import StartFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.delta.held import HeldOffsets, TableMark
    from anabranch.kafka.admin import KafkaAdmin

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

    def why_not_start(self, facts: StartFacts, begins: Mapping[int, int] | None) -> Iterator[Refused]:
        """The table lacks what the checkpoint says is in it; or holds what a first start would write again."""
        from anabranch.delta.held import has_rows, held_offsets, read_mark

        pipeline, path = facts.pipeline, _path(facts.pipeline)
        mark = read_mark(path, facts.checkpoint.query_id)
        if not facts.is_first:
            yield from _not_the_table(facts, mark, path)
        elif mark is None or begins is None:
            return
        elif not mark.has_coordinates:
            if has_rows(path):
                yield messages.TABLE_HOLDS_ROWS(pipeline=pipeline.name, table=path)
        else:
            topic = pipeline.source_topic
            held = held_offsets(path, topic, {partition: (begin, None) for partition, begin in begins.items()})
            if held:
                about = [_held(topic, partition, offsets) for partition, offsets in sorted(held.items())]
                yield messages.TABLE_HOLDS_RECORDS(pipeline=pipeline.name, table=path, held=about, called=facts.called)

    def held_until(self, pipeline: Pipeline) -> Mapping[int, int]:
        from anabranch.delta.held import held_offsets, read_mark

        mark = read_mark(_path(pipeline), None)
        if mark is not None and not mark.has_coordinates:
            return super().held_until(pipeline)
        return {partition: held.end for partition, held in held_offsets(_path(pipeline), pipeline.source_topic).items()}

    def check_continued(self, facts: StartFacts, kafka: KafkaAdmin, begins: Mapping[int, int] | None) -> list[Reason]:
        from anabranch.delta.held import held_offsets
        from anabranch.kafka.records import read_records

        pipeline, topic, notes = facts.pipeline, facts.pipeline.source_topic, []
        for partition, held in sorted(held_offsets(_path(pipeline), topic).items()):
            retained = (facts.retained or {}).get(partition)
            about = {"pipeline": pipeline.name, "topic": topic, "partition": partition}
            last = held.end - 1
            if retained is None or held.end > retained.end:
                raise messages.TABLE_OF_OTHER_RECORDS(**about, table=_path(pipeline), offset=last)
            if last >= retained.earliest:
                for record in read_records(kafka, topic, within={partition: OffsetRange(last, last + 1)}):
                    if record.timestamp_ms != round(held.last_time.timestamp() * 1000):
                        raise messages.TABLE_OF_OTHER_RECORDS(**about, table=_path(pipeline), offset=last)
            begin = min(held.first, retained.earliest)
            until = (begins or {}).get(partition, held.end)
            if (lacking := until - begin - held.count) > 0:
                notes.append(messages.NOT_IN_TABLE(**about, count=lacking, first=begin, last=until - 1))
        return notes

    def table_id(self, pipeline: Pipeline) -> str | None:
        from anabranch.delta.held import read_mark

        mark = read_mark(_path(pipeline), None)
        return mark.id if mark else None

    def left_alone(self) -> Reason:
        return messages.TABLE_SKIPS_BATCHES()

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        # deltalake takes half a second to load: only where a table is inspected or changed.
        from anabranch.delta.table import inspect_table

        pipeline, checkpoint, batch = rewound.pipeline, rewound.checkpoint, rewound.batch
        path, ranges = _path(pipeline), _ranges(checkpoint, batch)
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


def _path(pipeline: Pipeline) -> str:
    assert isinstance(pipeline.sink, Table)
    return pipeline.sink.path


def _not_the_table(facts: StartFacts, mark: TableMark | None, path: str) -> Iterator[Refused]:
    """Every batch that is committed is in the table, under the query's id: Delta writes a version also for an empty one."""
    batch = facts.checkpoint.commits.newest
    if batch is None:
        return
    about = {"pipeline": facts.pipeline.name, "called": facts.called, "table": path, "set_aside": facts.set_aside}
    recorded = facts.before.table_id if facts.before else None
    if mark is None:
        yield messages.TABLE_VANISHED(**about, batch=batch)
    elif recorded is not None and mark.id != recorded:
        yield messages.TABLE_REPLACED(**about, why=messages.OTHER_TABLE_ID(now=mark.id, before=recorded))
    elif mark.newest is None:
        yield messages.TABLE_REPLACED(**about, why=messages.NO_BATCH_IN_TABLE(batch=batch))
    elif mark.newest < batch:
        yield messages.TABLE_BEHIND(**about, newest=mark.newest, batch=batch, next=mark.newest + 1)


def _held(topic: str, partition: int, held: HeldOffsets) -> Reason:
    return messages.HELD_OFFSETS(count=held.count, topic=topic, partition=partition, first=held.first, last=held.end - 1)


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
