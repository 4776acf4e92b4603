"""Files that are wrong, each through the real command: one sentence with file, line, code and remedy."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.check.projects import FIRST, HEAD, project_with
from tests.support.desk import Desk
from tests.support.harness import Project


@dataclass(frozen=True)
class Wrong:
    name: str
    code: str
    said: str
    # Behind HEAD's last line.
    line: int
    body: str
    head: str = HEAD


UNREADABLE = [
    Wrong("syntax error", "pipelines-syntax", "", 1, "def broken(:\n"),
    Wrong("missing import", "pipelines-import", "no_such_module", 1, "import no_such_module\n"),
    Wrong(
        "not a function",
        "pipelines-wrong",
        "is not a function of frames",
        1,
        "@ab.pipeline(visits, to=ab.console())\nclass Counts: ...\n",
    ),
    Wrong("bad DDL", "pipelines-wrong", "STRNG", 1, 'ab.topic("orders", schema="id STRNG", event_time="id")\n'),
    Wrong(
        "event time that is no timestamp",
        "pipelines-wrong",
        "which is STRING",
        1,
        'ab.topic("orders", schema="id STRING", event_time="id")\n',
    ),
    Wrong(
        "two of one name",
        "pipelines-wrong",
        "two pipelines are named counts",
        0,
        "def declare():\n"
        "    @ab.pipeline(visits, to=ab.console())\n"
        "    def counts(visits): return visits\n\n"
        "declare()\ndeclare()\n",
    ),
    Wrong(
        "a window without a watermark in append mode",
        "pipelines-wrong",
        "no window would ever be closed",
        1,
        '@ab.pipeline(visits, window="5m", key=("window",), to=ab.results("counts"))\n'
        'def counts(visits): return visits.groupBy("window").count()\n',
    ),
]
PIPELINE = '@ab.pipeline(visits, window="10m", watermark="10m", key=("window",), to=ab.results("counts"))\n'
FOUND = [
    Wrong(
        "an unknown column in the key",
        "key-not-in-result",
        "'pages'",
        1,
        '@ab.pipeline(visits, window="10m", watermark="10m", key=("window", "pages"), to=ab.results("counts"))\n'
        'def counts(visits): return visits.groupBy("window", "page").count()\n',
    ),
    Wrong(
        "an action inside",
        "action-inside",
        "visits.count()",
        3,
        PIPELINE + 'def counts(visits):\n    if visits.count() > 0: pass\n    return visits.groupBy("window").count()\n',
    ),
    Wrong("a result that is no frame", "not-a-frame", "NoneType", 1, PIPELINE + "def counts(visits): pass\n"),
    Wrong(
        "a clock",
        "clock",
        "current_timestamp()",
        4,
        PIPELINE + "def counts(visits):\n"
        '    grouped = visits.groupBy("window").count()\n'
        '    return grouped.withColumn("at", F.current_timestamp())\n',
    ),
    Wrong(
        "something random",
        "random",
        "rand()",
        3,
        PIPELINE + 'def counts(visits):\n    return visits.where("rand() < 0.5").groupBy("window").count()\n',
    ),
]


@pytest.mark.parametrize("wrong", UNREADABLE, ids=lambda wrong: wrong.name)
def test_a_file_that_cannot_be_read_is_told_in_one_sentence(wrong: Wrong, desk: Desk) -> None:
    project = project_with(desk, wrong.body, wrong.head)
    code, printed = project.checked()
    error = printed["error"]
    assert (code, error["code"]) == (2, wrong.code), error
    assert wrong.said in error["text"]
    assert error["remedies"]
    assert "\n" not in error["text"]
    if wrong.line:
        assert f"{project.file}:{FIRST - 1 + wrong.line}: " in error["text"]


def test_a_udf_whose_type_only_spark_can_read_is_told_with_what_to_write_instead(project: Project) -> None:
    """In a process of its own: here a session may be running."""
    project.configure('pipelines = ["mine.py"]')
    (project.directory / "mine.py").write_text(HEAD + '@F.udf("int")\ndef one(page): return 1\n', encoding="utf-8")
    done = project("check")
    assert done.returncode == 2
    assert "usage[pipelines-need-spark]" in done.stderr
    assert f"mine.py:{FIRST}: " in done.stderr


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("wrong", FOUND, ids=lambda wrong: wrong.name)
def test_a_pipeline_that_is_wrong_is_found_with_its_line(wrong: Wrong, desk: Desk) -> None:
    project = project_with(desk, wrong.body)
    code, found = project.findings()
    assert (code, [one["code"] for one in found]) == (4, [wrong.code])
    assert found[0]["file"].endswith(project.file)
    assert found[0]["line"] == FIRST - 1 + wrong.line
    assert wrong.said in found[0]["text"]
    assert found[0]["remedies"]
