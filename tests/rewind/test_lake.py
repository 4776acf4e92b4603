"""A rewind of visits-lake, on the real broker and a real Delta table: every offset once, whatever happened in between.

And each of the ways that look right and are not (checkpoint-rewind.md, hazard G), so that the reason for ours stays known.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from anabranch.checkpoint.reader import look
from anabranch.cli.main import run_command
from anabranch.kafka.admin import KafkaAdmin
from anabranch.operations.log import new_operation_id, record_plan
from anabranch.pipeline.definition import Table
from anabranch.rewind.plan import Mode, files_beyond, possible
from anabranch.streaming.preflight import check_start
from tests.support.harness import PATIENCE_S
from tests.support.streams import Stream, stream

pytestmark = pytest.mark.kafka

VISITS, A_BATCH = 60, 10


@dataclass(frozen=True)
class Made:
    """A lake of 60 visits, written in 6 batches. Each test has a copy of its own: making one takes ten seconds."""

    original: Stream

    def copy(self, directory: Path) -> Stream:
        shutil.copytree(self.original.directory, directory, dirs_exist_ok=True)
        return stream(directory, self.original.spark, self.original.kafka, "visits-lake", Table("lake"))


Make = Callable[[], Made]


@pytest.fixture(scope="module")
def make(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession, kafka: dict[str, str], topics: KafkaAdmin
) -> Iterator[Make]:
    sources: list[str] = []

    def made() -> Made:
        directory, source = tmp_path_factory.mktemp("made"), f"visits-{uuid4().hex[:12]}"
        sources.append(source)
        topics.create(source, 2)
        address = f'[kafka]\nbootstrap_servers = "{kafka["bootstrap.servers"]}"\n'
        toml = f'{address}[pipelines.visits-lake]\ntable = "lake"\ntopics = {{ source = "{source}" }}\n'
        (directory / "anabranch.toml").write_text(toml, encoding="utf-8")
        one = stream(directory, spark, kafka, "visits-lake", Table("lake"))
        send(one, VISITS)
        one.run(A_BATCH)
        assert offsets(one) == list(range(VISITS // 2)) * 2
        return Made(one)

    yield made
    for source in sources:
        topics.delete(source)


@pytest.fixture(scope="module")
def shared(make: Make) -> Made:
    return make()


@pytest.fixture
def lake(shared: Made, tmp_path: Path) -> Stream:
    """Of a topic to which other tests of this file may have sent more."""
    return shared.copy(tmp_path)


@pytest.fixture
def alone(make: Make) -> Stream:
    """Of a topic that no other test knows."""
    return make().original


@pytest.fixture(scope="module")
def behind(make: Make) -> Made:
    """20 more visits have come than the lake holds."""
    made = make()
    send(made.original, 20)
    return made


def send(lake: Stream, count: int) -> None:
    lines = "".join(f'{{"visit_id": {n}, "event_time": "2025-09-04T07:{n % 60:02}:00Z"}}\n' for n in range(count // 2))
    for partition in ("0", "1"):
        path = lake.directory / f"visits-{partition}.jsonl"
        path.write_text(lines, encoding="utf-8")
        command = ["produce", lake.pipeline.source_topic, str(path), "--partition", partition]
        assert run_command(["-q", "-C", str(lake.directory), *command]) == 0


def offsets(lake: Stream) -> list[int]:
    """Of partition 0, then of partition 1, each in order; other writers' rows are left out."""
    table = DeltaTable(lake.sink).to_pyarrow_table(columns=["topic", "partition", "offset"]).to_pylist()
    rows = sorted((row["partition"], row["offset"]) for row in table if row["topic"] == lake.pipeline.source_topic)
    return [offset for _, offset in rows]


def once(lake: Stream, topics: KafkaAdmin) -> list[int]:
    """Every record that the topic has."""
    reach = topics.offset_ranges(lake.pipeline.source_topic)
    return [offset for partition in sorted(reach) for offset in range(reach[partition].end)]


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
    return look(lake.checkpoint).batches


def test_every_batch_can_be_rewound_to_and_every_offset_is_there_once(lake: Stream, topics: KafkaAdmin) -> None:
    """With other boundaries, and new records, each time; a rewind after a rewind after a rewind."""
    for batch in range(5, -1, -1):
        before = len(offsets(lake))
        mode: Mode = "replay" if batch % 2 else "replan"
        assert possible(look(lake.checkpoint), batch, mode).possible
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
    assert "another writer wrote some of them too" in capsys.readouterr().err
    assert table_state(lake) == before
    assert batches(lake)[-1] == 5


def table_state(lake: Stream) -> tuple[int, int | None, int]:
    table = DeltaTable(lake.sink)
    return table.version(), table.transaction_version(look(lake.checkpoint).query_id or ""), len(offsets(lake))


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
    assert f"batches 3 to {batches(lake)[-1]} ran again and would be lost" in capsys.readouterr().err
    assert offsets(lake) == once(lake, topics)


def test_a_table_that_cannot_be_taken_back_is_refused_before_anything_moves(
    lake: Stream, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    tree = tree_of(lake)
    for setting in ("delta.appendOnly", "delta.enableInCommitTimestamps", "delta.enableRowTracking"):
        spark.sql(f"ALTER TABLE delta.`{lake.sink}` SET TBLPROPERTIES ('{setting}' = 'true')")
        assert lake.anabranch("rewind", "--to-batch", "3", "--yes") == 3
        assert f"{setting} is set on it" in capsys.readouterr().err
        spark.sql(f"ALTER TABLE delta.`{lake.sink}` SET TBLPROPERTIES ('{setting}' = 'false')")
    assert tree_of(lake) == tree


def test_a_table_whose_rows_do_not_tell_their_records_is_refused_and_the_checkpoint_alone_goes_on(
    lake: Stream, capsys: pytest.CaptureFixture[str]
) -> None:
    config = lake.directory / "anabranch.toml"
    source = f'[pipelines.visits-log]\ntopics = {{ source = "{lake.pipeline.source_topic}" }}\n'
    config.write_text(config.read_text(encoding="utf-8") + source, encoding="utf-8")
    log = stream(lake.directory, lake.spark, lake.kafka, "visits-log", Table("log"))
    log.run(2 * A_BATCH)
    tree = tree_of(log)
    assert log.anabranch("rewind", "--to-batch", "1", "--yes") == 3
    said = capsys.readouterr().err
    assert "its rows do not tell which records they came from" in said
    assert "anabranch run visits-log --to table ANOTHER" in said
    assert tree_of(log) == tree
    assert log.anabranch("rewind", "--to-batch", "1", "--checkpoint-only", "--yes") == 0
    assert "A Delta table skips every batch id that it has seen" in capsys.readouterr().out
    assert batches(log) == [0, 1]


def test_what_kafka_has_lost_is_refused_with_the_earliest_batch_and_what_the_lake_has(
    alone: Stream, kafka: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    tree, topic = tree_of(alone), alone.pipeline.source_topic
    lost = [TopicPartition(topic, 0, 12)]
    # Kept: a client that is let go of takes its answers with it.
    admin = AdminClient(dict(kafka))
    for future in admin.delete_records(lost).values():
        future.result(PATIENCE_S)
    assert alone.anabranch("rewind", "--to-batch", "1", "--yes") == 3
    said = capsys.readouterr().err
    assert f"{topic} partition 0: offsets 5 to 11 are no longer in Kafka" in said
    assert "batch 3 is possible: --to-batch 3" in said
    assert f"the lake still has offsets 5 to 11 of {topic} partition 0: anabranch reprocess" in said
    assert tree_of(alone) == tree
    rewind(alone, 3)
    alone.run(A_BATCH)
    assert offsets(alone) == list(range(VISITS // 2)) * 2


def test_the_plan_says_what_else_has_seen_those_rows_and_what_is_not_as_it_was(
    lake: Stream, topics: KafkaAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    # The first start that is written down came after six batches: those were of another version, for all that is known.
    check_start(lake.pipeline, lake.checkpoint, topics, "2")
    reprocess = new_operation_id("reprocess")
    record_plan(lake.project, reprocess, "reprocess", {"pipeline": "visits-counter"})
    assert lake.anabranch("rewind", "--to-batch", "3", "--dry-run") == 0
    said = capsys.readouterr().out
    assert f"{reprocess} has read rows of the lake that are taken out now" in said
    assert "computed by another version of the pipeline's code" in said
    assert lake.anabranch("rewind", "--to-batch", "3", "--dry-run", "--checkpoint-only") == 0
    assert "batches run again and write nothing" in capsys.readouterr().out


def test_a_topic_that_was_made_again_under_its_name_is_refused(
    alone: Stream, topics: KafkaAdmin, capsys: pytest.CaptureFixture[str]
) -> None:
    topic = alone.pipeline.source_topic
    check_start(alone.pipeline, alone.checkpoint, topics, "2")
    topics.delete(topic)
    topics.create(topic, 2)
    send(alone, VISITS)
    assert alone.anabranch("rewind", "--to-batch", "3", "--yes") == 3
    assert f"{topic} was deleted and made again" in capsys.readouterr().err
    assert len(offsets(alone)) == VISITS


def aside(lake: Stream, batch: int) -> None:
    """The files only, as many do by hand."""
    checkpoint = look(lake.checkpoint)
    for path in files_beyond(checkpoint, batch, "replan"):
        (lake.checkpoint / path).unlink()


def nothing_more(lake: Stream) -> None: ...


def restore(lake: Stream) -> None:
    # Version 2 is what batch 2 left: 30 rows.
    DeltaTable(lake.sink).restore(2)


def delete(lake: Stream) -> None:
    DeltaTable(lake.sink).delete('"offset" >= 15')


def new_id(lake: Stream) -> None:
    (lake.checkpoint / "metadata").write_text(json.dumps({"id": str(uuid4())}), encoding="utf-8")
    (lake.checkpoint / ".metadata.crc").unlink(missing_ok=True)


WRONG: Sequence[tuple[str, Sequence[Callable[[Stream], None]], int, int]] = [
    # What was done, before a run over 20 more visits, with other boundaries: rows in the table, and how many records these are.
    ("files only", [nothing_more], 60, 60),
    ("files and RESTORE", [restore], 30, 30),
    ("files and a delete", [delete], 30, 30),
    ("files and a new query id", [new_id], 110, 80),
]


@pytest.mark.parametrize(("way", "steps", "rows", "records"), WRONG, ids=[way for way, *_ in WRONG])
def test_the_ways_that_look_right_lose_records_or_write_them_twice_without_an_error(
    way: str, steps: Sequence[Callable[[Stream], None]], rows: int, records: int, behind: Made, tmp_path: Path
) -> None:
    lake = behind.copy(tmp_path)
    aside(lake, 3)
    for step in steps:
        step(lake)
    lake.run(20)
    found = DeltaTable(lake.sink).to_pyarrow_table(columns=["partition", "offset"]).to_pylist()
    assert (len(found), len({(row["partition"], row["offset"]) for row in found})) == (rows, records), way
