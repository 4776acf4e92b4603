"""A user's files: imported by the path that names them, and nothing else; what is wrong is said with its line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from anabranch.errors import AnabranchError
from anabranch.pipeline.catalog import Catalog
from anabranch.pipeline.manifest import catalog_from, manifest_of
from anabranch.project.load import import_pipelines
from tests.support.harness import Project

TOPIC = 'orders = ab.topic("orders", schema="id STRING NOT NULL, at TIMESTAMP NOT NULL", event_time="at", lake="lake/orders")\n'
PIPELINE = """
@ab.pipeline(orders, window="5m", watermark="10m", key=("window",), to=ab.results("counts"))
def order_counts(orders):
    \"\"\"Orders by window.\"\"\"
    return orders.groupBy("window").count()
"""


@pytest.fixture(autouse=True)
def _modules_as_before() -> Iterator[None]:
    modules, path = set(sys.modules), list(sys.path)
    yield
    for name in sys.modules.keys() - modules:
        # What others hold stays: only files of the test are forgotten.
        if "site-packages" not in str(getattr(sys.modules[name], "__file__", "site-packages")):
            del sys.modules[name]
    sys.path[:] = path


def write(directory: Path, name: str, text: str) -> str:
    path = directory / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"import anabranch as ab\n{text}", encoding="utf-8")
    return name


def load(directory: Path, *names: str) -> Catalog:
    return import_pipelines(directory, names)[0]


def refused(directory: Path, text: str, name: str = "streams_of_test.py") -> AnabranchError:
    with pytest.raises(AnabranchError) as error:
        load(directory, write(directory, name, text))
    return error.value


def test_a_file_declares_a_topic_its_lake_and_a_pipeline_with_their_places(tmp_path: Path) -> None:
    catalog, sources = import_pipelines(tmp_path, [write(tmp_path, "streams_of_test.py", TOPIC + PIPELINE)])
    lake, counts = catalog.pipelines
    assert (lake.name, lake.takes_problems, lake.sink.describe()) == ("orders-lake", True, "table:lake/orders")
    assert (counts.name, counts.summary, counts.is_recomputable) == ("order-counts", "Orders by window", True)
    file = str(tmp_path / "streams_of_test.py")
    assert [one.place.describe() for one in (lake, counts) if one.place] == [f"{file}:2", f"{file}:4"]
    assert list(sources) == [file]
    known = catalog_from(manifest_of(catalog, sources))
    assert known == catalog
    assert all(pipeline.code is None for pipeline in known.pipelines)


def test_files_may_import_what_is_beside_them_and_that_hides_no_installed_module(tmp_path: Path) -> None:
    write(tmp_path, "topics_of_test.py", TOPIC)
    (tmp_path / "pandas.py").write_text("raise AssertionError('planted')\n", encoding="utf-8")
    text = f"import pandas\nfrom topics_of_test import orders\n{PIPELINE}"
    catalog, sources = import_pipelines(tmp_path, [write(tmp_path, "streams_of_test.py", text)])
    assert [pipeline.name for pipeline in catalog.pipelines] == ["orders-lake", "order-counts"]
    assert [Path(file).name for file in sources] == ["streams_of_test.py", "topics_of_test.py"]
    assert sys.path[-1] == str(tmp_path)


def test_two_pipelines_of_one_name_are_refused_with_both_places(tmp_path: Path) -> None:
    error = refused(tmp_path, TOPIC + PIPELINE + PIPELINE)
    assert error.code == "pipelines-wrong"
    assert f"{tmp_path}/streams_of_test.py:4" in error.text
    assert f"{tmp_path}/streams_of_test.py:9" in error.text


def test_two_topics_of_one_name_are_refused_unless_they_are_the_same(tmp_path: Path) -> None:
    error = refused(tmp_path, TOPIC + TOPIC.replace("id STRING NOT NULL", "id STRING") + PIPELINE)
    assert "two topics are named orders" in error.text


@pytest.mark.parametrize(
    ("text", "code", "line", "about"),
    [
        ("def f(:\n", "pipelines-syntax", 2, "invalid syntax"),
        ("\nimport nowhere_at_all\n", "pipelines-import", 3, "nowhere_at_all"),
        ("x = undefined\n", "pipelines-raised", 2, "NameError"),
        ("raise SystemExit(1)\n", "pipelines-raised", 2, "SystemExit"),
        (TOPIC.replace("at TIMESTAMP", "at TIMESTAMPS"), "pipelines-wrong", 2, "TIMESTAMPS"),
        (TOPIC.replace('event_time="at"', 'event_time="id"'), "pipelines-wrong", 2, "which is STRING"),
        (TOPIC + PIPELINE.replace(', watermark="10m"', ""), "pipelines-wrong", 4, "no watermark"),
        (TOPIC + PIPELINE.replace('"window",', ""), "pipelines-wrong", 4, "lacks window"),
        (TOPIC + PIPELINE.replace("(orders):", "(orders, more):"), "pipelines-wrong", 4, "(orders, more)"),
        (TOPIC + PIPELINE.replace("pipeline(orders, ", "pipeline("), "pipelines-wrong", 4, "names no topic"),
        (TOPIC + PIPELINE.replace('"5m"', '("5m", "10m")'), "pipelines-wrong", 4, "further apart"),
        (TOPIC + PIPELINE.replace('"5m"', '"0s"'), "pipelines-wrong", 4, "not longer than 0"),
        (TOPIC + "ab.pipeline(orders, to=ab.console())(3)\n", "pipelines-wrong", 3, "not a function"),
        (TOPIC + PIPELINE.replace("to=", "scope='batch', to=").replace("results(", "table("), "pipelines-wrong", 4, "appended"),
        (
            "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n",
            "pipelines-wrong",
            3,
            "getOrCreate was called",
        ),
        ("x = 1\n", "no-pipelines", None, "streams_of_test.py"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_sentence_with_its_line(
    tmp_path: Path, text: str, code: str, line: int | None, about: str
) -> None:
    error = refused(tmp_path, text)
    assert (error.code, error.exit_code) == (code, 2)
    assert about in error.text
    assert "\n" not in error.text
    assert error.remedies
    if line is not None:
        assert error.text.startswith(f"{tmp_path}/streams_of_test.py:{line}: ")


def test_a_session_can_be_made_again_once_the_files_are_read(tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    before = SparkSession.Builder.getOrCreate
    refused(tmp_path, "from pyspark.sql import SparkSession\nSparkSession.builder.getOrCreate()\n")
    assert SparkSession.Builder.getOrCreate is before


def test_a_file_that_is_not_there_and_one_that_has_the_name_of_a_module_are_refused(tmp_path: Path) -> None:
    with pytest.raises(AnabranchError) as missing:
        load(tmp_path, "nowhere.py")
    assert missing.value.code == "pipelines-file-missing"
    assert refused(tmp_path, TOPIC, "json.py").code == "module-name-taken"
    assert refused(tmp_path, TOPIC, "no name.py").code == "module-name-taken"
    assert refused(tmp_path, TOPIC, "here/streams.txt").code == "pipelines-not-python"


def test_an_installed_package_with_an_entry_point_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "acme_of_test/__init__.py", "")
    write(tmp_path, "acme_of_test/streams.py", TOPIC + PIPELINE)
    about = tmp_path / "acme_of_test-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-of-test\nVersion: 1.0\n", encoding="utf-8")
    (about / "entry_points.txt").write_text("[anabranch.pipelines]\nacme = acme_of_test.streams\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert [pipeline.name for pipeline in load(tmp_path).pipelines] == ["orders-lake", "order-counts"]


def test_the_pipelines_of_the_seeds_can_be_named_beside_ones_own(tmp_path: Path) -> None:
    file = write(tmp_path, "streams_of_test.py", TOPIC + PIPELINE)
    names = [pipeline.name for pipeline in load(tmp_path, file, "anabranch.pipeline.builtin.catalog").pipelines]
    assert {"orders-lake", "order-counts", "visits-lake", "visits-counter"} <= set(names)
    assert len(names) == 9


def test_a_definition_that_cannot_be_read_is_said_and_hides_no_other_pipeline(make_project: Callable[[str], Project]) -> None:
    project = make_project("project")
    kept = project.directory / ".anabranch" / "checkpoints" / "gone-long-ago" / "console.definition.json"
    kept.parent.mkdir(parents=True)
    kept.write_text("{", encoding="utf-8")
    for command in (("status",), ("pipelines",)):
        done = project(*command)
        assert (done.returncode, f"{kept} is damaged" in done.stderr) == (0, True), done.stderr
    assert "visits-counter" in project.ok("pipelines")
