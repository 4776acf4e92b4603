"""`--to topic NAME`, as 0.1.0 wrote it: the name is no pipeline, and must not become a topic or a table by mistake."""

from __future__ import annotations

import pytest

from anabranch.kafka.admin import KafkaAdmin
from tests.support.harness import Project

pytestmark = pytest.mark.kafka


@pytest.mark.parametrize(
    ("arguments", "kind", "name"),
    [
        (("visits-counter", "browsers-statefull", "--to", "topic"), "topic", "browsers-statefull"),
        (("visits-counter", "--to", "topic", "counts"), "topic", "counts"),
        (("visits-counter", "--to", "table", "counts"), "table", "counts"),
    ],
)
def test_a_target_behind_a_blank_is_rejected_and_nothing_is_created(
    project: Project, topics: KafkaAdmin, arguments: tuple[str, ...], kind: str, name: str
) -> None:
    before = {topic.name for topic in topics.all()}
    for command, *options in (("run", "--until-caught-up"), ("rewind", "--to-batch", "0", "--yes"), ("checkpoint",)):
        rejected = project(command, *arguments, *options)
        assert (rejected.returncode, "usage[target-as-argument]" in rejected.stderr) == (2, True), rejected.stderr
        assert f"--to {kind}:{name}" in rejected.stderr
    assert {topic.name for topic in topics.all()} == before
    assert [path.name for path in project.directory.iterdir()] == ["anabranch.toml"]


def test_an_unknown_pipeline_without_a_target_is_only_an_unknown_pipeline(project: Project) -> None:
    for to in ([], ["--to", "console"], ["--to", "topic:counts"]):
        rejected = project("run", "visits-countr", *to)
        assert (rejected.returncode, "usage[unknown-pipeline]" in rejected.stderr) == (2, True), rejected.stderr
