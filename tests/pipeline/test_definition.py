"""Pipelines and their sinks as values: what `--to` asks for, and what every pipeline keeps to. Pure."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Misused
from anabranch.pipeline.builtin.browsers_stateless import BROWSERS_STATELESS
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.pipeline.definition import Pipeline, find_pipelines
from anabranch.pipeline.sinks import Console, Results, Sink, Table


@pytest.mark.parametrize(
    ("pipeline", "to", "sink"),
    [
        (VISITS_COUNTER, None, None),
        (VISITS_COUNTER, "console", Console()),
        (VISITS_SESSIONS, "topic", Results("visits_sessions")),
        (VISITS_SESSIONS, "topic:", Results("visits_sessions")),
        (VISITS_SESSIONS, "topic:counts", Results("counts")),
        (VISITS_COUNTER, "table:x", Table("x")),
        (VISITS_COUNTER, "table:/a/b:c", Table("/a/b:c")),
    ],
)
def test_results_are_sent_where_to_asks(pipeline: Pipeline, to: str | None, sink: Sink | None) -> None:
    assert pipeline.sent_to(to) == sink


@pytest.mark.parametrize(
    ("pipeline", "to", "code"),
    [
        (VISITS_COUNTER, "mars", "unknown-sink"),
        (VISITS_COUNTER, "", "unknown-sink"),
        (VISITS_COUNTER, "table", "sink-needs-target"),
        (VISITS_COUNTER, "table:", "sink-needs-target"),
        (VISITS_COUNTER, "console:x", "sink-takes-no-target"),
        (VISITS_SESSIONS, "table:x", "sink-appends-only"),
        (BROWSERS_STATELESS, "table:x", "sink-appends-only"),
    ],
)
def test_a_sink_that_cannot_be_is_rejected(pipeline: Pipeline, to: str, code: str) -> None:
    with pytest.raises(Misused) as rejected:
        pipeline.sent_to(to)
    assert rejected.value.code == code


@pytest.mark.parametrize("sink", [Console(), Results("counts"), Table("/somewhere/counts")])
def test_a_sink_is_described_as_to_names_it(sink: Sink) -> None:
    assert VISITS_COUNTER.sent_to(sink.describe()) == sink


def test_a_table_is_seen_from_the_projects_directory_and_each_sink_has_a_directory_name() -> None:
    table = Table("lake/visits").placed("/project")
    assert table == Table("/project/lake/visits")
    assert Table("/elsewhere").placed("/project") == Table("/elsewhere")
    names = [sink.directory_name("/project") for sink in (Console(), Results("counts"), Table("/project/lake"), table)]
    assert names == ["console", "topic-counts", "table-lake", "table-lake-visits-39615fed"]


@given(st.lists(st.text(st.sampled_from("abé./- "), min_size=1, max_size=12), min_size=2, max_size=2))
def test_two_sinks_have_one_directory_name_only_if_they_are_the_same(targets: list[str]) -> None:
    tables = [Table(target).placed("/project") for target in targets]
    topics: list[Sink] = [Results(target) for target in targets]
    for one, other in (tables, topics):
        is_same = one.identity("/project") == other.identity("/project")
        assert (one.directory_name("/project") == other.directory_name("/project")) == is_same
        assert "/" not in one.directory_name("/project")


@pytest.mark.parametrize("target", ["x" * 5000, "é" * 5000, "/".join("y" * 5000)])
def test_a_directory_name_is_never_longer_than_a_file_system_takes(target: str) -> None:
    assert len(Table(target).placed("/project").directory_name("/project").encode()) <= 197 + len("table-")


def test_a_table_in_the_project_is_the_same_wherever_the_project_is_and_one_outside_is_not() -> None:
    inside = {Table("lake").placed(directory).identity(directory) for directory in ("/one", "/two")}
    assert inside == {"table:lake"}
    assert Table("/x/y").identity("/project") == "table:/x/y"
    assert Table("x/y").placed("/project").identity("/project") == "table:x/y"


@pytest.mark.parametrize("to", ["topic", "table"])
def test_a_name_behind_the_pipelines_is_no_target(to: str) -> None:
    with pytest.raises(Misused) as rejected:
        find_pipelines(BUILTIN.pipelines, ["visits-counter", "elsewhere"], to)
    assert rejected.value.code == "target-as-argument"
    params = rejected.value.reason.params
    assert (params["name"], params["kind"]) == ("elsewhere", to)


def test_pipelines_are_found_each_once_whatever_they_are_sent_to() -> None:
    for to in (None, "console", "topic", "topic:elsewhere", "table"):
        assert find_pipelines(BUILTIN.pipelines, ["visits-counter", "visits-log", "visits-counter"], to) == [
            VISITS_COUNTER,
            VISITS_LOG,
        ]
    for to in (None, "console", "topic:elsewhere"):
        with pytest.raises(Misused) as rejected:
            find_pipelines(BUILTIN.pipelines, ["visits-counter", "elsewhere"], to)
        assert rejected.value.code == "unknown-pipeline"


def test_every_pipeline_that_keeps_state_has_a_watermark() -> None:
    for pipeline in BUILTIN.pipelines:
        if pipeline.output_mode == "update" or (pipeline.window_s is not None and not pipeline.per_batch):
            assert pipeline.watermark_s is not None, pipeline.name
