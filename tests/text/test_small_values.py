"""Durations, times, suggestions, secrets, escapes: the small pure functions behind everything that is shown."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Misused, Refused
from anabranch.text.format import escape_control_chars, escaped_json, format_duration, iso_utc, parse_duration_s, parse_instant
from anabranch.text.redact import HIDDEN, is_secret, shown
from anabranch.text.suggest import did_you_mean, nearest, nearest_of_many


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("20s", 20),
        ("10 minutes", 600),
        ("1h30m", 5400),
        ("500ms", 0.5),
        ("2 days", 172800),
        ("1 hour 5 s", 3605),
        ("0", 0),
    ],
)
def test_a_duration_is_parsed_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "20", "s", "-5s", "5 parsecs", "5s!", "1m 2", "ten minutes", "5ss"])
def test_a_malformed_duration_is_rejected(text: str) -> None:
    with pytest.raises(Misused) as error:
        parse_duration_s(text)
    assert (error.value.code, error.value.reason.params) == ("duration-malformed", {"text": text})


@given(st.integers(min_value=1, max_value=10**10))
def test_a_formatted_duration_is_parsed_back_to_the_same_value(milliseconds: int) -> None:
    assert parse_duration_s(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


def test_the_nearest_name_is_suggested_and_all_names_if_none_is_near() -> None:
    assert nearest("visit-log", ["visits-log", "visits-lake"]) == "visits-log"
    assert did_you_mean("visit-log", ["visits-log", "visits-lake"]) == "did you mean visits-log?"
    assert did_you_mean("zzz", ["b", "a"]) == "available: a, b"
    assert did_you_mean("zzz", []) == "none exist yet"
    assert nearest_of_many("visit-log", ["visits-log", "visits-lake"]) == "did you mean visits-log?"
    assert nearest_of_many("zzz", ["b", "a"]) == ""


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "sasl.jaas.config",
        "ssl.key.password",
        "spark.hadoop.fs.s3a.secret.key",
        "ssl.key.pem",
        "oauth.token",
    ],
)
def test_a_secret_is_never_shown(name: str) -> None:
    assert is_secret(name)
    assert shown(name, "hunter2") == HIDDEN


def test_other_values_are_shown_without_a_password_in_an_address() -> None:
    assert shown("kafka.bootstrap_servers", "host:9092") == "host:9092"
    assert "hunter2" not in shown("some.address", "https://me:hunter2@host/")


@given(st.text())
def test_escaped_text_has_no_control_characters(text: str) -> None:
    assert all(char.isprintable() or char == "\t" for char in escape_control_chars(text))


def test_escaped_text_shows_which_characters_were_escaped() -> None:
    assert escape_control_chars("a\x1b[31mb\n\u202ec") == "a\\x1b[31mb\\n\\u202ec"


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())), st.sampled_from([None, 2]))
def test_escaped_json_has_the_same_value(value: object, indent: int | None) -> None:
    text = escaped_json(value, indent)
    assert json.loads(text) == value
    assert all(char.isprintable() or char == "\n" for char in text)


def test_times_are_utc_unless_they_name_a_zone() -> None:
    assert iso_utc(0) == "1970-01-01T00:00:00Z"
    assert iso_utc(1757606666015) == "2025-09-11T16:04:26.015Z"
    assert parse_instant("2025-09-04T07:00", "Europe/Paris").isoformat() == "2025-09-04T07:00:00+02:00"
    assert parse_instant("2025-09-04T07:00Z", "Europe/Paris").isoformat() == "2025-09-04T07:00:00+00:00"


def test_a_malformed_time_is_rejected() -> None:
    with pytest.raises(Misused) as error:
        parse_instant("yesterday", "UTC")
    assert error.value.code == "time-malformed"


def test_a_time_in_a_daylight_saving_gap_is_refused() -> None:
    with pytest.raises(Refused) as error:
        parse_instant("2025-03-30T02:30", "Europe/Paris")
    assert (error.value.code, error.value.reason.params["zone"]) == ("time-nonexistent", "Europe/Paris")
