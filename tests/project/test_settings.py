"""anabranch.toml, the environment and options: parsed once, each value with its origin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from anabranch.errors import Misused
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.sinks import Results
from anabranch.project.project import open_project
from anabranch.project.settings import load_settings
from anabranch.text.suggest import did_you_mean
from tests.support.harness import Project


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("ANABRANCH_"):
            monkeypatch.delenv(name)


def _write(directory: Path, toml: str) -> None:
    (directory / "anabranch.toml").write_text(toml, encoding="utf-8")


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path)
    assert (loaded.settings.timezone, loaded.settings.broker.port) == ("UTC", 9094)
    assert {origin for _, _, origin in loaded.in_force()} == {"default"}


def test_options_take_precedence_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(
        tmp_path,
        'timezone = "Europe/Paris"\n[broker]\nport = 1\n[pipeline.visits-log]\ntrigger = "5s"\nmax_offsets = 3',
    )
    monkeypatch.setenv("ANABRANCH_BROKER__PORT", "2")
    monkeypatch.setenv("ANABRANCH_PIPELINE__VISITS_LOG__TRIGGER", "7s")
    loaded = load_settings(tmp_path, {"timezone": "Asia/Tokyo"})
    values = {key: (value, origin) for key, value, origin in loaded.in_force()}
    assert values["timezone"] == ("Asia/Tokyo", "option")
    assert values["broker.port"] == ("2", "environment")
    assert values["pipeline.visits-log.trigger"] == ("7.0", "environment")
    assert values["pipeline.visits-log.max_offsets"] == ("3", "anabranch.toml")


def test_a_section_changes_its_pipeline_and_no_other(tmp_path: Path) -> None:
    _write(tmp_path, '[pipeline.visits-counter]\nfuture_tolerance = "1d"\nwindow = "5m"\ntopics.sink = "counts"')
    project = open_project(tmp_path)
    changed = project.pipeline(VISITS_COUNTER)
    assert (changed.future_tolerance_s, changed.window_s, changed.sink) == (86_400, 300, Results("counts"))
    assert project.pipeline(VISITS_WINDOWS) == VISITS_WINDOWS


def test_dotted_properties_may_be_written_with_or_without_quotes(tmp_path: Path) -> None:
    _write(
        tmp_path,
        '[kafka.properties]\nsasl.username = "me"\n"ssl.ca.location" = "ca.pem"\n[spark]\n"sql.shuffle.partitions" = 4',
    )
    settings = load_settings(tmp_path).settings
    assert settings.kafka.properties == {"sasl.username": "me", "ssl.ca.location": "ca.pem"}
    assert settings.spark == {"sql.shuffle.partitions": "4"}


@pytest.mark.parametrize(
    ("toml", "key", "line", "nearest"),
    [
        ('timezon = "UTC"', "timezon", 1, "timezone"),
        ('[kafka]\nbootstrap_server = "x"', "kafka.bootstrap_server", 2, "bootstrap_servers"),
        ('[pipeline.visits-log]\ntriger = "5s"', "pipeline.visits-log.triger", 2, "trigger"),
        ('[pipeline.visit-log]\ntrigger = "5s"', "pipeline.visit-log", 1, "visits-log"),
    ],
)
def test_an_unknown_setting_is_rejected_with_the_nearest_known_one(
    tmp_path: Path, toml: str, key: str, line: int, nearest: str
) -> None:
    params = _rejected(tmp_path, toml, "unknown-setting")
    assert (params["key"], params["where"]) == (key, f"{tmp_path / 'anabranch.toml'}, line {line}")
    assert params["suggestion"] == did_you_mean(key.rpartition(".")[2], [nearest])


@pytest.mark.parametrize(
    ("toml", "key", "reason"),
    [
        ('timezone = "Mars/Base"', "timezone", "'Mars/Base'"),
        ("[broker]\nport = 70000", "broker.port", "65535"),
        ('[pipeline.visits-log]\ntrigger = "5"', "pipeline.visits-log.trigger", "'5'"),
        ("[pipeline.visits-log]\nmax_offsets = 0", "pipeline.visits-log.max_offsets", "1"),
        ('[pipeline.visits-counter]\nwatermark_jump = "0"', "pipeline.visits-counter.watermark_jump", "longer than 0"),
        ('[pipeline.visits-log]\nskip = ["visits:0:24", "visits:0"]', "pipeline.visits-log.skip.1", "'visits:0'"),
        ('[pipeline.visits-log]\nskip = ["visits:0:-1"]', "pipeline.visits-log.skip.0", "visits:0:24"),
    ],
)
def test_an_invalid_setting_is_rejected_with_the_reason(tmp_path: Path, toml: str, key: str, reason: str) -> None:
    params = _rejected(tmp_path, toml, "setting-invalid")
    assert (params["key"], params["where"]) == (key, f"{tmp_path / 'anabranch.toml'}, line {toml.count(chr(10)) + 1}")
    assert reason in params["reason"]


def test_a_file_that_is_not_toml_is_rejected_with_the_place(tmp_path: Path) -> None:
    params = _rejected(tmp_path, "timezone = \n[broker]", "settings-malformed")
    assert params["file"] == str(tmp_path / "anabranch.toml")
    assert "line 1" in params["reason"]


def _rejected(directory: Path, toml: str, code: str) -> Mapping[str, Any]:
    _write(directory, toml)
    with pytest.raises(Misused) as caught:
        load_settings(directory)
    assert (caught.value.code, caught.value.exit_code) == (code, 2)
    assert caught.value.remedies
    return caught.value.reason.params


def test_an_environment_variable_may_be_written_in_lower_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("anabranch_timezone", "Europe/Paris")
    assert load_settings(tmp_path).settings.timezone == "Europe/Paris"


def test_an_environment_variable_that_sets_nothing_is_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_TIMEZON", "UTC")
    with pytest.raises(Misused) as caught:
        load_settings(tmp_path)
    assert (caught.value.code, caught.value.reason.params["name"]) == ("unknown-variable", "ANABRANCH_TIMEZON")
    assert "timezone" in caught.value.reason.params["suggestion"]


def test_an_invalid_environment_variable_is_named_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_BROKER__PORT", "70000")
    with pytest.raises(Misused) as caught:
        load_settings(tmp_path)
    params = caught.value.reason.params
    assert (caught.value.code, params["key"], params["where"]) == ("setting-invalid", "broker.port", "the environment")


def test_secrets_are_in_force_and_never_shown(tmp_path: Path) -> None:
    _write(tmp_path, '[kafka.properties]\n"sasl.password" = "hunter2"\n"sasl.jaas.config" = "x password=hunter2"')
    loaded = load_settings(tmp_path)
    assert loaded.settings.kafka.properties["sasl.password"] == "hunter2"
    assert "hunter2" not in str(list(loaded.in_force()))
    assert "hunter2" not in repr(loaded.settings)


def test_records_to_skip_are_of_the_topic_that_the_pipeline_reads(tmp_path: Path) -> None:
    _write(tmp_path, '[pipeline.visits-counter]\nskip = ["visits:0:24", "visits:1:3"]\nwatermark_jump = "1d"')
    changed = open_project(tmp_path).pipeline(VISITS_COUNTER)
    assert (changed.skip, changed.watermark_jump_s) == (("visits:0:24", "visits:1:3"), 86_400)
    assert open_project(tmp_path).pipeline(VISITS_WINDOWS).skip == ()
    _write(tmp_path, '[pipeline.visits-counter]\nskip = ["visits:0:24"]\ntopics = { source = "others" }')
    with pytest.raises(Misused) as rejected:
        open_project(tmp_path).pipeline(VISITS_COUNTER)
    assert rejected.value.code == "skip-of-other-topic"


# Each duration that a pipeline has no default of.
NOT_SETTABLE = [
    (pipeline.name, setting, what)
    for pipeline in BUILTIN.pipelines
    for setting, what, default in (
        ("window", "window", pipeline.window_s),
        ("watermark", "watermark", pipeline.watermark_s),
        ("watermark_jump", "watermark", pipeline.watermark_s),
    )
    if default is None
]


@pytest.mark.parametrize(("name", "setting", "what"), NOT_SETTABLE)
def test_a_window_or_watermark_cannot_be_set_where_a_pipeline_has_none(
    make_project: Callable[[str], Project], name: str, setting: str, what: str
) -> None:
    project = make_project("project")
    project.configure(f'[pipeline.{name}]\n{setting} = "5m"')
    rejected = project("pipelines", "--json")
    assert (rejected.returncode, "usage[window-not-settable]" in rejected.stderr) == (2, True), rejected.stderr
    error = json.loads(rejected.stdout)["error"]
    assert error["params"] == {"pipeline": name, "what": what, "setting": f"pipeline.{name}.{setting}"}


def test_a_window_and_a_watermark_can_be_set_where_a_pipeline_has_them(make_project: Callable[[str], Project]) -> None:
    assert ("visits-sessions", "window", "window") in NOT_SETTABLE
    assert ("visits-sessions", "watermark", "watermark") not in NOT_SETTABLE
    project = make_project("project")
    project.configure(
        '[pipeline.visits-counter]\nwindow = "5m"\nwatermark = "1m"\n[pipeline.visits-sessions]\nwatermark = "2m"'
    )
    found = {one["name"]: one for one in json.loads(project.ok("pipelines", "--json"))}
    assert (found["visits-counter"]["window_s"], found["visits-counter"]["watermark_s"]) == (300, 60)
    assert (found["visits-sessions"]["window_s"], found["visits-sessions"]["watermark_s"]) == (None, 120)
