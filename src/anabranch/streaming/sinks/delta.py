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
from anabranch.checkpoint.layout import KafkaOffsets, OffsetRange
from anabranch.checkpoint.reader import read_query_id
from anabranch.delta.messages import OTHER_WRITER
from anabranch.delta.written_rows import Written, WrittenRows, WrittenVersions
from anabranch.errors import Reason, Refused
from anabranch.operations.change import SinkChange
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Out, Table
from anabranch.storage.files import CheckpointLocation, Format
from anabranch.streaming import messages
from anabranch.streaming.sinks.base import BatchWriter, QueryRun, RewoundBatches, SinkPolicy, leave, register
from anabranch.streaming.startable import StartFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.delta.held import HeldOffsets, TableMark
    from anabranch.kafka.admin import KafkaAdmin

ROWS = Format("written-rows", 1, WrittenRows)
VERSIONS = Format("written-versions", 1, WrittenVersions)


class DeltaPolicy(SinkPolicy):
    kind = "table"

    def batch_writer(self, run: QueryRun, out: Out) -> BatchWriter:
        del out
        pipeline = run.pipeline
        assert isinstance(pipeline.sink, Table)
        path, partition_by = pipeline.sink.path, pipeline.sink.partition_by
        storage = CheckpointLocation(Path(run.checkpoint)).storage()

        def write(batch: DataFrame, batch_id: int) -> None:
            # By the query's own id: what Delta's streaming sink would write down, and what a rewind sets back.
            options = {"txnAppId": read_query_id(storage), "txnVersion": str(batch_id)}
            writer = batch.write.format("delta").mode("append").partitionBy(*partition_by)
            writer.options(**options).save(path)

        return write

    def why_not_start(self, facts: StartFacts, begins: KafkaOffsets | None) -> Iterator[Refused]:
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
            about = [
                _held(topic, partition, offsets)
                for topic, from_ in begins.items()
                for partition, offsets in sorted(
                    held_offsets(path, topic, {partition: (begin, None) for partition, begin in from_.items()}).items()
                )
            ]
            if about:
                yield messages.TABLE_HOLDS_RECORDS(pipeline=pipeline.name, table=path, held=about, called=facts.called)

    def held_until(self, pipeline: Pipeline) -> KafkaOffsets:
        from anabranch.delta.held import held_offsets, read_mark

        mark = read_mark(_path(pipeline), None)
        if mark is not None and not mark.has_coordinates:
            return super().held_until(pipeline)
        return {
            topic: {partition: held.end for partition, held in held_offsets(_path(pipeline), topic).items()}
            for topic in pipeline.topic_names
        }

    def check_continued(self, facts: StartFacts, kafka: KafkaAdmin, begins: KafkaOffsets | None) -> list[Reason]:
        return [note for topic in facts.pipeline.topic_names for note in _check_continued(facts, kafka, begins or {}, topic)]

    def table_id(self, pipeline: Pipeline) -> str | None:
        from anabranch.delta.held import read_mark

        mark = read_mark(_path(pipeline), None)
        return mark.id if mark else None

    def left_alone(self) -> Reason:
        return messages.TABLE_SKIPS_BATCHES()

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        """By rows where these say which records they are from, else by versions."""
        from anabranch.delta.held import read_mark

        path, checkpoint = _path(rewound.pipeline), rewound.checkpoint
        if checkpoint.query_id is None:
            raise messages.QUERY_ID_MISSING(table=path)
        mark = read_mark(path, checkpoint.query_id)
        has_nothing = mark is not None and mark.has_coordinates and not _ranges(checkpoint, rewound.batch)
        if mark is None or mark.newest is None or mark.newest < rewound.batch or has_nothing:
            return leave(self.kind, messages.TABLE_NOT_REACHED(table=path, batch=rewound.batch))
        written = _rows_of(rewound, path) if mark.has_coordinates else _versions_of(rewound, path)
        about = {"table": path, "rows": written.count, "newest": written.newest, "set_back_to": written.set_back_to}
        return SinkChange(
            kind=self.kind,
            action="take back",
            effect=messages.ROWS_DELETED(**about),
            undo_effect=messages.ROWS_RESTORED(**about),
            params=ROWS.as_json(written) if isinstance(written, WrittenRows) else VERSIONS.as_json(written),
        )

    def take_back(self, params: Mapping[str, Any]) -> None:
        from anabranch.delta.table import delete_rows
        from anabranch.delta.versions import take_versions_back

        written = _written(params)
        delete_rows(written) if isinstance(written, WrittenRows) else take_versions_back(written)

    def put_back(self, params: Mapping[str, Any]) -> None:
        from anabranch.delta.table import restore_rows
        from anabranch.delta.versions import put_versions_back

        written = _written(params)
        restore_rows(written) if isinstance(written, WrittenRows) else put_versions_back(written)

    def check_undo(self, params: Mapping[str, Any], operation: str) -> None:
        """A batch may have reached the table and not its commit: the checkpoint does not show it."""
        from anabranch.delta.table import check_rows_are_kept, newest_batch
        from anabranch.delta.versions import check_versions_are_kept

        written = _written(params)
        newest = newest_batch(written.table, written.query_id)
        if newest != written.set_back_to:
            raise messages.TABLE_RAN_AGAIN(operation=operation, batch=newest, table=written.table)
        check_rows_are_kept(written) if isinstance(written, WrittenRows) else check_versions_are_kept(written)


def _rows_of(rewound: RewoundBatches, path: str) -> WrittenRows:
    # deltalake takes half a second to load: only where a table is inspected or changed.
    from anabranch.delta.table import inspect_table

    ranges, query_id = _ranges(rewound.checkpoint, rewound.batch), str(rewound.checkpoint.query_id)
    table = inspect_table(path, query_id, ranges)
    assert table is not None
    assert table.newest is not None
    why_not = list(table.why_not)
    if table.rows != table.records:
        why_not.append(OTHER_WRITER(rows=table.rows, records=table.records))
    if why_not:
        raise messages.TABLE_NOT_REWINDABLE(table=path, why=why_not, pipeline=rewound.pipeline.name)
    return WrittenRows(
        table=path,
        rewind=rewound.operation,
        query_id=query_id,
        ranges=ranges,
        count=table.rows,
        version=table.version,
        newest=table.newest,
        set_back_to=rewound.batch - 1,
    )


def _versions_of(rewound: RewoundBatches, path: str) -> WrittenVersions:
    from anabranch.delta.versions import inspect_versions

    query_id = str(rewound.checkpoint.query_id)
    table = inspect_versions(path, query_id, rewound.batch)
    assert table is not None
    assert table.newest is not None
    if table.why_not:
        raise messages.TABLE_NOT_REWINDABLE(table=path, why=list(table.why_not), pipeline=rewound.pipeline.name)
    return WrittenVersions(
        table=path,
        rewind=rewound.operation,
        query_id=query_id,
        kept=table.kept,
        count=table.rows,
        version=table.version,
        newest=table.newest,
        set_back_to=rewound.batch - 1,
    )


def _check_continued(facts: StartFacts, kafka: KafkaAdmin, begins: KafkaOffsets, topic: str) -> list[Reason]:
    from anabranch.delta.held import held_offsets
    from anabranch.kafka.records import read_records

    pipeline, notes = facts.pipeline, []
    for partition, held in sorted(held_offsets(_path(pipeline), topic).items()):
        retained = (facts.retained or {}).get(topic, {}).get(partition)
        about = {"pipeline": pipeline.name, "topic": topic, "partition": partition}
        last = held.end - 1
        if retained is None or held.end > retained.end:
            raise messages.TABLE_OF_OTHER_RECORDS(**about, table=_path(pipeline), offset=last)
        if last >= retained.earliest:
            for record in read_records(kafka, topic, within={partition: OffsetRange(last, last + 1)}):
                if record.timestamp_ms != round(held.last_time.timestamp() * 1000):
                    raise messages.TABLE_OF_OTHER_RECORDS(**about, table=_path(pipeline), offset=last)
        begin = min(held.first, retained.earliest)
        until = begins.get(topic, {}).get(partition, held.end)
        if (lacking := until - begin - held.count) > 0:
            notes.append(messages.NOT_IN_TABLE(**about, count=lacking, first=begin, last=until - 1))
    return notes


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


def _written(params: Mapping[str, Any]) -> Written:
    kind: Format[Any] = ROWS if "ranges" in params else VERSIONS
    written: Written = kind.from_json({**kind.head, **params}, "the plan's sink")
    return written


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
