"""`anabranch config` on a file that is wrong: everything that is understood, and everything that is not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from anabranch.project.settings import LoadedSettings, read_settings
from tests.support.harness import Project

# Value of a setting -> what is said of it.
INVALID = [
    ("broker.port", "true", "true is not a number"),
    ("broker.port", "-1", "0"),
    ("broker.port", "9094.5", "integer"),
    ("pipeline.visits-log.max_offsets", "true", "true is not a number"),
    ("pipeline.visits-log.max_offsets", "99999999999999999999", "9223372036854775807"),
    ("pipeline.visits-log.trigger", "true", "not a duration"),
    ("pipeline.visits-log.trigger", '"0.4ms"', "milliseconds"),
    ("pipeline.visits-log.trigger", '""', "not a duration"),
    ("pipeline.visits-counter.window", '"0s"', "longer than 0"),
    ("pipeline.visits-counter.window", "0", "longer than 0"),
    ("pipeline.visits-counter.window", '"-5m"', "not a duration"),
    ("pipeline.visits-counter.window", '"40000d"', "100 years"),
    ("pipeline.visits-counter.watermark", '"-1s"', "not a duration"),
    ("pipeline.visits-lake.table", '""', "empty"),
    ("pipeline.visits-lake.checkpoint", '" "', "empty"),
    ("jars.ivy_settings", '""', "empty"),
    ("kafka.bootstrap_servers", '""', "HOST:PORT"),
    ("kafka.bootstrap_servers", '"host"', "HOST:PORT"),
    ("kafka.bootstrap_servers", '"a:1,b:99999"', "'b:99999'"),
    ("kafka.bootstrap_servers", "true", "string"),
    ("pipeline.visits-log.topics.source", '""', "cannot be the name of a topic"),
    ("pipeline.visits-log.topics.sink", '"a b"', "cannot be the name of a topic"),
    ("timezone", '""', "not a time zone"),
    ("timezone", '"../../etc/passwd"', "not a time zone"),
    ("spark.master", "[]", "must be a text"),
    ("kafka", "3", "[kafka]"),
    ("pipeline", "3", "[pipeline]"),
    ("pipelines", "3", 'pipelines = ["..."]'),
    ("pipelines", '"visits-log"', 'pipelines = ["..."]'),
    ("pipeline.visits-log", "3", "[pipeline.visits-log]"),
]
VALID = [
    # Legal in Spark: the next batch at once, and no patience with what is late.
    ("pipeline.visits-log.trigger", '"0s"', "0.0"),
    ("pipeline.visits-counter.watermark", '"0s"', "0.0"),
    # As the environment writes it.
    ("broker.port", '"9094"', "9094"),
    ("pipeline.visits-log.max_offsets", "9223372036854775807", "9223372036854775807"),
    ("kafka.bootstrap_servers", '"[::1]:9092, SASL_SSL://b-1.example:9093"', "[::1]:9092, SASL_SSL://b-1.example:9093"),
]


def read(directory: Path, toml: str | bytes) -> LoadedSettings:
    (directory / "anabranch.toml").write_bytes(toml if isinstance(toml, bytes) else toml.encode())
    return read_settings(directory)


def values(loaded: LoadedSettings) -> dict[str, str]:
    return {key: value for key, value, origin in loaded.in_force() if origin != "default"}


@pytest.mark.parametrize(("key", "value", "reason"), INVALID, ids=lambda text: str(text))
def test_a_value_that_nobody_can_mean_is_rejected_with_its_key_and_line(
    tmp_path: Path, key: str, value: str, reason: str
) -> None:
    loaded = read(tmp_path, f"# a comment\n{key} = {value}\n")
    (error,) = loaded.errors
    params = error.reason.params
    assert (error.code, params["key"], params["where"]) == ("setting-invalid", key, f"{tmp_path}/anabranch.toml, line 2")
    assert reason in params["reason"]
    assert values(loaded) == {}


@pytest.mark.parametrize(("key", "value", "shown"), VALID)
def test_a_value_at_the_edge_is_accepted(tmp_path: Path, key: str, value: str, shown: str) -> None:
    loaded = read(tmp_path, f"{key} = {value}\n")
    assert (loaded.errors, values(loaded)) == ([], {key: shown})


def test_all_errors_of_a_file_are_found_at_once_and_the_rest_is_in_force(tmp_path: Path) -> None:
    toml = (
        """timezone = "Europe/Paris"
this is not TOML
[broker
port = 1
[kafka]
bootstrap_servers = "127.0.0.1:9092"
properties = { sasl.username = "me", deep = [1] }
bootstrap_servers = "twice:1"
[pipeline.visits-log]
trigger = "5s"
triger = "6s"
max_offsets = [
  1,
]
[pipeline.visit-log]
trigger = "5s"
[pipeline.visits-counter]
window = "5m
watermark = "1m"
checkpoint = """
        + '"""never ends\nport = 9\n'
    )
    loaded = read(tmp_path, toml)
    lines = [_line(error.text) for error in loaded.errors]
    assert [(error.code, line) for error, line in zip(loaded.errors, lines, strict=True)] == [
        ("settings-malformed", 2),
        ("settings-malformed", 3),
        ("settings-malformed", 8),
        ("settings-malformed", 18),
        ("settings-malformed", None),
        ("setting-invalid", 7),
        ("setting-invalid", 14),
        ("unknown-setting", 11),
        ("unknown-setting", 15),
    ]
    # What follows a broken header belongs to no other section.
    assert values(loaded) == {
        "timezone": "Europe/Paris",
        "kafka.bootstrap_servers": "127.0.0.1:9092",
        "kafka.properties.sasl.username": "me",
        "pipeline.visits-log.trigger": "5.0",
        "pipeline.visits-counter.watermark": "60.0",
    }


def _line(text: str) -> int | None:
    found = text.partition("line ")[2]
    digits = "".join(char for char in found.split(" ")[0] if char.isdigit())
    return int(digits) if digits else None


def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    loaded = read(tmp_path, b'\xef\xbb\xbftimezone = "Europe/Paris"\r\n[broker]\r\nport = 1\r\n')
    assert (loaded.errors, values(loaded)) == ([], {"timezone": "Europe/Paris", "broker.port": "1"})


@pytest.mark.parametrize("toml", [b'\ntimezone = "\xff"', "\ntimezone".encode("utf-16")])
def test_a_file_that_is_not_utf8_is_rejected_with_the_place(tmp_path: Path, toml: bytes) -> None:
    (error,) = read(tmp_path, toml).errors
    assert (error.code, "0xff" in error.text) == ("settings-not-utf8", True)


def test_what_is_wrong_in_the_file_is_wrong_also_where_the_environment_overrides_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANABRANCH_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
    loaded = read(tmp_path, "kafka = 3")
    assert [error.reason.params["key"] for error in loaded.errors] == ["kafka"]
    assert values(loaded) == {"kafka.bootstrap_servers": "127.0.0.1:1"}


@pytest.mark.parametrize(
    ("variables", "code", "names"),
    [
        ({"ANABRANCH_TIMEZON": "UTC"}, "unknown-variable", "ANABRANCH_TIMEZON"),
        ({"ANABRANCH_KAFKA__PROPERTIES": "sasl.username=me"}, "variable-malformed", "ANABRANCH_KAFKA__PROPERTIES"),
        ({"ANABRANCH_SPARK": "{"}, "variable-malformed", "ANABRANCH_SPARK"),
        ({"ANABRANCH_BROKER__PORT": "true"}, "setting-invalid", "broker.port"),
        ({"ANABRANCH_BROKER": "5"}, "setting-invalid", "broker"),
        ({"ANABRANCH_PIPELINES": "5"}, "setting-invalid", "pipelines"),
    ],
)
def test_a_variable_that_is_wrong_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], code: str, names: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    (error,) = read(tmp_path, 'timezone = "Europe/Paris"').errors
    assert (error.code, names in error.text) == (code, True), error.text


def test_config_shows_what_it_can_and_every_error_and_exits_with_2(project: Project) -> None:
    file = project.directory / "anabranch.toml"
    file.write_text('timezone = "Europe/Paris"\nbroken\n[broker]\nport = true\n')
    told = project("config")
    assert (told.returncode, told.stderr.count("usage[")) == (2, 2), told.stderr
    assert "usage[settings-malformed]" in told.stderr
    assert "usage[setting-invalid]" in told.stderr
    assert ["timezone", "Europe/Paris", "anabranch.toml"] in [line.split() for line in told.stdout.splitlines()]

    found: dict[str, Any] = json.loads(project("config", "--json").stdout)
    assert found["error"] == found["errors"][0]
    assert [error["code"] for error in found["errors"]] == ["settings-malformed", "setting-invalid"]
    assert {"key": "timezone", "value": "Europe/Paris", "from": "anabranch.toml"} in found["settings"]
    # Every other command says the first and how to see all.
    other = project("pipelines")
    assert (other.returncode, other.stderr.count("usage["), "anabranch config" in other.stderr) == (2, 1, True)


def test_what_is_not_a_file_is_rejected_as_what_it_is(project: Project) -> None:
    file = project.directory / "anabranch.toml"
    file.mkdir()
    rejected = project("config")
    assert (rejected.returncode, "usage[settings-unreadable]" in rejected.stderr) == (2, True), rejected.stderr
    assert f"mv {file} {file}.old" in rejected.stderr
    assert "broker.port" in rejected.stdout
    shutil.rmtree(file)
    for target in ("nowhere", "anabranch.toml"):
        file.symlink_to(target)
        rejected = project("status")
        assert (rejected.returncode, "usage[settings-unreadable]" in rejected.stderr) == (2, True), rejected.stderr
        file.unlink()
