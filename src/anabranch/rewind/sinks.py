"""What a rewind does at the sink: asked of the table or the topic that is really there, before anything is planned.

A new kind of sink gets a case in `sink_part`, and if something is to be done there a part of core/shift.py with its opposite.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.starts import read_so_far, start_of
from anabranch.errors import Refused
from anabranch.operations.change import DeleteRows, LeaveSink, Pairs, SinkPart, WrittenRows
from anabranch.pipeline.definition import Console, Pipeline, Table, Topic
from anabranch.streaming.result_headers import given_and_corrected

if TYPE_CHECKING:
    from anabranch.kafka.admin import Topics

# A topic of so many results is read in a second or two; of a longer one the keys are not counted.
_MOST_RESULTS = 200_000

_CHECKPOINT_ONLY = "--checkpoint-only   rewinds the checkpoint and leaves the sink as it is"


def sink_part(pipeline: Pipeline, checkpoint: Checkpoint, batch: int, operation: str, topics: Topics) -> SinkPart:
    match pipeline.sink:
        case Console():
            return LeaveSink("the console has nothing to take back; the batches print again")
        case Topic(name):
            return LeaveSink(_topic_words(pipeline, name, batch, topics))
        case Table(path):
            return _table_part(pipeline.name, path, checkpoint, batch, operation)
        case other:
            assert_never(other)


def left_alone(pipeline: Pipeline | None) -> LeaveSink:
    """With --checkpoint-only: what will be wrong."""
    sink = pipeline.sink if pipeline else None
    if isinstance(sink, Console | Topic):
        return LeaveSink("left as it is; results are emitted again")
    return LeaveSink(
        "left as it is. A Delta table skips every batch id that it has seen: batches run again and write nothing, and with"
        " other boundaries records are lost without an error. A file sink skips them too. A sink that adds rows has them twice"
    )


def refuse_unknown(path: str) -> Refused:
    """A checkpoint does not say where its query writes."""
    return Refused(
        f"what the query of {path} has written cannot be taken along: a checkpoint does not say where its sink is.",
        "console, Kafka, or a foreachBatch that writes by key: --checkpoint-only is right, results are emitted again",
        "a Delta table: in ONE commit delete the rows of the batches taken back and set the transaction (query id, N-1), then"
        " --checkpoint-only; docs/rewind.md shows how",
        "a file sink keeps its own log of batches and skips them: write to a new directory, with a new checkpoint",
    )


def _topic_words(pipeline: Pipeline, topic: str, batch: int, topics: Topics) -> str:
    if not pipeline.grouping:
        return f"topic {topic}: its results have no key, so readers see those of batches {batch} and later twice"
    words = (
        f"topic {topic}: results are emitted again under the same key, the latest wins{_keys(topic, batch, pipeline, topics)}"
    )
    if pipeline.output_mode == "update":
        words += "; on the way readers see counts go down and up again"
    return words


def _keys(topic: str, batch: int, pipeline: Pipeline, topics: Topics) -> str:
    if topic not in {found.name for found in topics.all()}:
        return ""
    held = sum(reach.end - reach.earliest for reach in topics.reach(topic).values())
    if held > _MOST_RESULTS:
        return f" (not counted: it holds {held:,} records)"
    from anabranch.kafka.records import read_records

    given, corrected = given_and_corrected(read_records(topics, topic, follow=False), pipeline.name, batch)
    lost = f"; corrected since: {len(corrected):,}, which they write over: reprocess again afterwards" if corrected else ""
    return f" ({len(given):,} keys{lost})"


def _table_part(name: str, path: str, checkpoint: Checkpoint, batch: int, operation: str) -> SinkPart:
    from anabranch.delta.rows import inspect_table

    assert checkpoint.query_id is not None
    ranges = _ranges(checkpoint, batch)
    view = inspect_table(path, checkpoint.query_id, ranges) if ranges else None
    if view is None or view.newest is None or view.newest < batch:
        return LeaveSink(f"table {path}: no batch from {batch} on has reached it, there is nothing to take back")
    why_not = list(view.why_not)
    if view.rows != view.records:
        why_not.append(f"{view.rows:,} rows lie there for {view.records:,} records: another writer wrote some of them too")
    if why_not:
        raise Refused(
            f"table {path} cannot be taken back: {'; '.join(why_not)}.",
            f"anabranch run {name} --to table ANOTHER   writes anew all that Kafka holds, with a checkpoint of its own",
            _CHECKPOINT_ONLY,
        )
    return DeleteRows(
        WrittenRows(
            table=path,
            rewind=operation,
            query_id=checkpoint.query_id,
            ranges=ranges,
            count=view.rows,
            version=view.version,
            newest=view.newest,
            set_back_to=batch - 1,
        )
    )


def _ranges(checkpoint: Checkpoint, batch: int) -> Pairs:
    """What the batches from this one on have read; empty partitions are left out."""
    begins = start_of(checkpoint, batch)
    found: dict[str, dict[str, tuple[int, int]]] = {}
    for topic, ends in read_so_far(checkpoint).items():
        for partition, end in ends.items():
            begin = begins.get(topic, {}).get(partition, 0)
            if begin < end:
                found.setdefault(topic, {})[str(partition)] = (begin, end)
    return found
