"""A rewind of visits-lake, on the real broker and a real Delta table: every offset once, whatever happened in between."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from anabranch.checkpoint.figures import counting
from anabranch.checkpoint.history import EMPTY, newest_entry, newest_first
from anabranch.checkpoint.reader import read_checkpoint
from anabranch.cli.main import run_command
from anabranch.delta.table import query
from anabranch.kafka.admin import KafkaAdmin
from anabranch.operations.log import new_operation_id
from anabranch.pipeline.sinks import Table
from anabranch.reprocess.apply import REPROCESS
from anabranch.rewind.plan import Mode, judge
from anabranch.storage.local import LocalStorage
from anabranch.streaming.preflight import check_start
from tests.support.harness import PATIENCE_S
from tests.support.lakes import A_BATCH, VISITS, offsets, once, send
from tests.support.plans import reprocess_plan
from tests.support.streams import Stream, stream

pytestmark = pytest.mark.kafka


def rewind(lake: Stream, batch: int, mode: Mode = "replay", *options: str) -> str:
    """The operation's id."""
    replan = ["--replan"] if mode == "replan" else []
    assert lake.anabranch("rewind", "--to-batch", str(batch), *replan, *options, "--yes") == 0
    return newest_operation(lake.directory)


def newest_operation(directory: Path) -> str:
    return max(
        (path for path in (directory / ".anabranch" / "operations").iterdir()), key=lambda path: path.stat().st_mtime_ns
    ).name


def batches(lake: Stream) -> list[int]:
    return read_checkpoint(LocalStorage(lake.checkpoint)).batches


def test_batches_that_a_killed_run_left_without_a_line_are_in_the_history_that_an_undo_restores(lake: Stream) -> None:
    def counted() -> tuple[list[int], int]:
        found = [entry for entry in counting(newest_first(lake.location)) if entry.ran is not None]
        assert all(entry.ran is not None and entry.ran.ranges is not None for entry in found)
        return [entry.batch for entry in found], (newest_entry(lake.location) or EMPTY).total_records

    # None has one: this run had no runner.
    assert counted() == ([], 0)
    operation = rewind(lake, 3)
    assert counted() == ([2, 1, 0], 3 * A_BATCH)
    assert run_command(["-C", str(lake.directory), "undo", operation, "--yes"]) == 0
    assert counted() == ([5, 4, 3, 2, 1, 0], VISITS)


def test_every_batch_can_be_rewound_to_and_every_offset_is_there_once(lake: Stream, topics: KafkaAdmin) -> None:
    """With other boundaries, and new records, each time; a rewind after a rewind after a rewind."""
    for batch in range(5, -1, -1):
        before = len(offsets(lake))
        mode: Mode = "replay" if batch % 2 else "replan"
        assert judge(read_checkpoint(LocalStorage(lake.checkpoint)), batch, mode).possible
        rewind(lake, batch, mode)
        assert len(offsets(lake)) < before
        send(lake, 4)
        lake.run(3 * A_BATCH + batch)
        assert offsets(lake) == once(lake, topics)


def test_other_writers_rows_stay_and_an_optimize_in_between_does_no_harm(lake: Stream, topics: KafkaAdmin) -> None:
    table = DeltaTable(lake.sink)
    others = table.to_pyarrow_table().slice(0, 3)
    others = others.set_column(others.schema.get_field_index("topic"), "topic", pa.array(["other"] * 3))
    write_deltalake(table, others, mode="append")
    DeltaTable(lake.sink).optimize.compact()
    rewind(lake, 3)
    kept = DeltaTable(lake.sink).to_pyarrow_table(columns=["topic"])["topic"].to_pylist()
    assert kept.count("other") == 3
    DeltaTable(lake.sink).optimize.compact()
    lake.run(A_BATCH + 1)
    assert offsets(lake) == once(lake, topics)


def test_a_second_writer_of_the_same_records_is_seen_and_refused(lake: Stream, capsys: pytest.CaptureFixture[str]) -> None:
    table = DeltaTable(lake.sink)
    write_deltalake(table, table.to_pyarrow_table().slice(0, 60), mode="append")
    before = table_state(lake)
    assert lake.anabranch("rewind", "--to-batch", "3", "--yes") == 3
    assert "refused[table-not-rewindable]" in capsys.readouterr().err
    assert table_state(lake) == before
    assert batches(lake)[-1] == 5


def table_state(lake: Stream) -> tuple[int, int | None, int]:
    table = DeltaTable(lake.sink)
    return (
        table.version(),
        table.transaction_version(read_checkpoint(LocalStorage(lake.checkpoint)).query_id or ""),
        len(offsets(lake)),
    )


def test_an_undo_puts_the_rows_and_the_files_back_as_they_were(lake: Stream, topics: KafkaAdmin) -> None:
    rows, tree = table_rows(lake), tree_of(lake)
    taken = rewind(lake, 2)
    assert len(offsets(lake)) == 20
    assert run_command(["-C", str(lake.directory), "undo", taken, "--yes"]) == 0
    assert table_rows(lake) == rows
    assert tree_of(lake) == tree
    # And the query goes on as if nothing had been.
    send(lake, 10)
    lake.run(A_BATCH)
    assert offsets(lake) == once(lake, topics)


def table_rows(lake: Stream) -> list[str]:
    return sorted(map(str, DeltaTable(lake.sink).to_pyarrow_table().to_pylist()))


def tree_of(lake: Stream) -> dict[str, bytes]:
    files = [path for path in lake.checkpoint.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files if "_rewind" not in path.parts}


def test_once_a_batch_has_reached_the_table_an_undo_is_refused(
    lake: Stream, topics: KafkaAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    taken = rewind(lake, 3)
    lake.run(A_BATCH)
    assert run_command(["-C", str(lake.directory), "undo", taken, "--yes"]) == 3
    assert "refused[ran-again]" in capsys.readouterr().err
    assert offsets(lake) == once(lake, topics)


def test_a_table_that_cannot_be_taken_back_is_refused_before_anything_moves(
    lake: Stream, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tree_of(lake)
    for setting in ("delta.appendOnly", "delta.enableInCommitTimestamps", "delta.enableRowTracking"):
        spark.sql(f"ALTER TABLE delta.`{lake.sink}` SET TBLPROPERTIES ('{setting}' = 'true')")
        assert lake.anabranch("rewind", "--to-batch", "3", "--yes") == 3
        said = capsys.readouterr().err
        assert "refused[table-not-rewindable]" in said
        assert setting in said
        spark.sql(f"ALTER TABLE delta.`{lake.sink}` SET TBLPROPERTIES ('{setting}' = 'false')")
    assert tree_of(lake) == tree


def test_a_table_whose_rows_do_not_tell_their_records_is_rewound_by_its_versions_unless_another_writes_to_it(
    lake: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    config = lake.directory / "anabranch.toml"
    source = f'[pipeline.visits-log]\ntopics = {{ source = "{lake.pipeline.topic.name}" }}\n'
    config.write_text(config.read_text(encoding="utf-8") + source, encoding="utf-8")
    log = stream(lake.directory, lake.spark, lake.kafka, "visits-log", Table("log"))
    log.run(2 * A_BATCH)
    before = _visits(log)
    assert log.anabranch("rewind", "--to-batch", "1", "--yes") == 0
    assert 0 < len(_visits(log)) < len(before)
    log.run(2 * A_BATCH)
    assert _visits(log) == before

    capsys.readouterr()
    table = DeltaTable(log.sink)
    write_deltalake(table, query(table, "SELECT * FROM held LIMIT 1"), mode="append")
    tree = tree_of(log)
    assert log.anabranch("rewind", "--to-batch", "0", "--yes") == 3
    said = capsys.readouterr().err
    assert "refused[table-not-rewindable]" in said
    assert "is not of this query" in said
    assert "anabranch run visits-log --to table:ANOTHER" in said
    assert tree_of(log) == tree
    assert log.anabranch("rewind", "--to-batch", "1", "--checkpoint-only", "--yes") == 0
    assert "A Delta table skips every batch id that it has seen" in capsys.readouterr().out


def _visits(log: Stream) -> list[str]:
    return sorted(str(row) for row in query(DeltaTable(log.sink), "SELECT * FROM held").to_pylist())


def test_what_kafka_has_lost_is_refused_with_the_earliest_batch_and_what_the_lake_has(
    alone: Stream, kafka: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    tree, topic = tree_of(alone), alone.pipeline.topic.name
    lost = [TopicPartition(topic, 0, 12)]
    # Kept: a client that is let go of takes its answers with it.
    admin = AdminClient(dict(kafka))
    for future in admin.delete_records(lost).values():
        future.result(PATIENCE_S)
    assert alone.anabranch("rewind", "--to-batch", "1", "--yes") == 3
    said = capsys.readouterr().err
    assert "refused[not-restartable]" in said
    assert f"{topic} partition 0: offsets 5 to 11 are no longer in Kafka" in said
    assert "batch 3 is possible: --to-batch 3" in said
    assert f"the lake still has offsets 5 to 11 of {topic} partition 0" in said
    assert tree_of(alone) == tree
    rewind(alone, 3)
    alone.run(A_BATCH)
    assert offsets(alone) == list(range(VISITS // 2)) * 2


def test_the_plan_says_what_else_has_seen_those_rows_and_what_is_not_as_it_was(
    lake: Stream, topics: KafkaAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first start that is written down came after six batches: those were of another version, for all that is known.
    check_start(lake.project, lake.pipeline, topics, "earliest")
    reprocess = new_operation_id("reprocess")
    lake.project.operations.record_plan(reprocess, REPROCESS, reprocess_plan(operation=reprocess))
    assert lake.anabranch("rewind", "--to-batch", "3", "--dry-run") == 0
    said = capsys.readouterr().out
    assert f"{reprocess} has read rows of the lake that are deleted now" in said
    assert "computed by another version of the pipeline's code" in said
    assert lake.anabranch("rewind", "--to-batch", "3", "--dry-run", "--checkpoint-only") == 0
    assert "batches run again and write nothing" in capsys.readouterr().out


def test_a_topic_that_was_recreated_is_refused(alone: Stream, topics: KafkaAdmin, capsys: pytest.CaptureFixture[str]) -> None:
    topic = alone.pipeline.topic.name
    check_start(alone.project, alone.pipeline, topics, "earliest")
    topics.delete(topic)
    topics.create(topic, 2)
    send(alone, VISITS)
    assert alone.anabranch("rewind", "--to-batch", "3", "--yes") == 3
    assert "refused[checkpoint-differs]" in capsys.readouterr().err
    assert len(offsets(alone)) == VISITS
