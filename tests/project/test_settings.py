"""anabranch.toml, the environment and options: parsed once, each value with its origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from anabranch.errors import Misused
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.definition import Topic
from anabranch.project.project import open_project
from anabranch.project.settings import load_settings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    for name in list(os.environ):
        if name.startswith("ANABRANCH_"):
            monkeypatch.delenv(name)


def _write(directory: Path, toml: str) -> None:
    (directory / "anabranch.toml").write_text(toml, encoding="utf-8")


def test_without_a_file_everything_has_its_default(tmp_path: Path) -> None:
    loaded = load_settings(tmp_path)
    assert (loaded.settings.timezone, loaded.settings.broker.port) == ("UTC", 9094)
    assert {origin for _, _, origin in loaded.in_force()} == {"default"}


def test_options_beat_the_environment_which_beats_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(
        tmp_path,
        'timezone = "Europe/Paris"\n[broker]\nport = 1\n[pipelines.visits-log]\ntrigger = "5s"\nmax_offsets = 3',
    )
    monkeypatch.setenv("ANABRANCH_BROKER__PORT", "2")
    monkeypatch.setenv("ANABRANCH_PIPELINES__VISITS_LOG__TRIGGER", "7s")
    loaded = load_settings(tmp_path, {"timezone": "Asia/Tokyo"})
    values = {key: (value, origin) for key, value, origin in loaded.in_force()}
    assert values["timezone"] == ("Asia/Tokyo", "option")
    assert values["broker.port"] == ("2", "environment")
    assert values["pipelines.visits-log.trigger"] == ("7.0", "environment")
    assert values["pipelines.visits-log.max_offsets"] == ("3", "anabranch.toml")


def test_a_pipeline_is_as_its_section_changes_it_and_others_are_not(tmp_path: Path) -> None:
    _write(tmp_path, '[pipelines.visits-counter]\nfuture_tolerance = "1d"\nwindow = "5m"\ntopics.sink = "counts"')
    project = open_project(tmp_path)
    changed = project.pipeline(VISITS_COUNTER)
    assert (changed.future_tolerance_s, changed.window_s, changed.sink) == (86_400, 300, Topic("counts"))
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
    ("toml", "fact", "way_out"),
    [
        ('timezon = "UTC"', "unknown setting timezon", "did you mean timezone?"),
        (
            '[kafka]\nbootstrap_server = "x"',
            "unknown setting kafka.bootstrap_server",
            "did you mean bootstrap_servers?",
        ),
        ('[pipelines.visits-log]\ntriger = "5s"', "pipelines.visits-log.triger", "did you mean trigger?"),
        ('[pipelines.visit-log]\ntrigger = "5s"', "unknown setting pipelines.visit-log", "did you mean visits-log?"),
        ('timezone = "Mars/Base"', "timezone", "Europe/Paris"),
        ("[broker]\nport = 70000", "broker.port", "anabranch config"),
        ('[pipelines.visits-log]\ntrigger = "5"', "is not a duration", "20s"),
        ("[pipelines.visits-log]\nmax_offsets = 0", "max_offsets", "anabranch config"),
        ("timezone = ", "is not TOML", "anabranch config"),
    ],
)
def test_a_wrong_setting_is_named_with_the_way_out(tmp_path: Path, toml: str, fact: str, way_out: str) -> None:
    _write(tmp_path, toml)
    with pytest.raises(Misused) as caught:
        load_settings(tmp_path)
    assert fact in str(caught.value)
    assert way_out in str(caught.value)
    assert caught.value.exit_code == 2


def test_an_environment_variable_may_be_written_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("anabranch_timezone", "Europe/Paris")
    assert load_settings(tmp_path).settings.timezone == "Europe/Paris"


def test_an_environment_variable_that_sets_nothing_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANABRANCH_TIMEZON", "UTC")
    with pytest.raises(Misused, match="did you mean timezone"):
        load_settings(tmp_path)


def test_secrets_are_in_force_but_never_shown(tmp_path: Path) -> None:
    _write(tmp_path, '[kafka.properties]\n"sasl.password" = "hunter2"\n"sasl.jaas.config" = "x password=hunter2"')
    loaded = load_settings(tmp_path)
    assert loaded.settings.kafka.properties["sasl.password"] == "hunter2"
    assert "hunter2" not in str(list(loaded.in_force()))
    assert "hunter2" not in repr(loaded.settings)
