"""Durations, names, secrets, screens: the small pure functions that everything says things with."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Misused
from anabranch.pipeline.definition import PIPELINES, find_pipeline
from anabranch.streaming.result_headers import given_and_corrected, operation_headers, stream_headers
from anabranch.text.durations import format_duration, parse_duration_s
from anabranch.text.escape import escape_control_chars, escaped_json
from anabranch.text.instants import iso_utc, parse_instant
from anabranch.text.redact import HIDDEN, is_secret, shown
from anabranch.text.suggest import did_you_mean, nearest


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
def test_a_duration_is_read_as_people_write_it(text: str, seconds: float) -> None:
    assert parse_duration_s(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "20", "s", "-5s", "5 parsecs", "5s!", "1m 2", "ten minutes", "5ss"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(Misused, match="is not a duration"):
        parse_duration_s(text)


@given(st.integers(min_value=1, max_value=10**10))
def test_a_duration_that_is_written_is_read_back(milliseconds: int) -> None:
    assert parse_duration_s(format_duration(milliseconds / 1000)) == pytest.approx(milliseconds / 1000)


def test_the_nearest_name_is_offered_and_all_names_where_none_is_near() -> None:
    assert nearest("visit-log", ["visits-log", "visits-lake"]) == "visits-log"
    assert did_you_mean("zzz", ["b", "a"]) == "there is: a, b"
    assert did_you_mean("zzz", []) == "there is none yet"


def test_an_unknown_pipeline_is_refused_with_the_nearest() -> None:
    with pytest.raises(Misused, match="did you mean visits-log"):
        find_pipeline("visit-log")
    assert [find_pipeline(pipeline.name) for pipeline in PIPELINES] == list(PIPELINES)


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


def test_what_is_no_secret_is_shown_without_the_password_in_its_address() -> None:
    assert shown("kafka.bootstrap_servers", "host:9092") == "host:9092"
    assert "hunter2" not in shown("some.address", "https://me:hunter2@host/")


@dataclass(frozen=True)
class Given:
    key_text: str
    headers: dict[str, str]

    def header(self, name: str) -> str | None:
        return self.headers.get(name)


def test_results_that_were_corrected_are_those_whose_last_word_is_not_the_streams() -> None:
    corrected = operation_headers("p", "reprocess", "op")
    results = [
        Given("early", stream_headers("p", 2)),
        Given("early", corrected),
        Given("kept", stream_headers("p", 3)),
        Given("again", stream_headers("p", 3)),
        Given("again", corrected),
        Given("again", stream_headers("p", 4)),
        Given("corrected", stream_headers("p", 4)),
        Given("another's", stream_headers("q", 4)),
        Given("nobody's", {}),
        Given("corrected", corrected),
    ]
    assert given_and_corrected(results, "p", 3) == ({"kept", "again", "corrected"}, {"corrected"})


@given(st.text())
def test_harmless_text_has_nothing_that_acts_on_a_screen(text: str) -> None:
    assert all(char.isprintable() or char == "\t" for char in escape_control_chars(text))


def test_harmless_text_shows_what_was_there() -> None:
    assert escape_control_chars("a\x1b[31mb\n\u202ec") == "a\\x1b[31mb\\n\\u202ec"


@given(st.dictionaries(st.text(), st.text() | st.lists(st.text())), st.sampled_from([None, 2]))
def test_harmless_json_is_the_same_json(value: object, indent: int | None) -> None:
    text = escaped_json(value, indent)
    assert json.loads(text) == value
    assert all(char.isprintable() or char == "\n" for char in text)


def test_instants_are_utc_unless_they_say_otherwise() -> None:
    assert iso_utc(0) == "1970-01-01T00:00:00Z"
    assert iso_utc(1757606666015) == "2025-09-11T16:04:26.015Z"
    assert parse_instant("2025-09-04T07:00", "Europe/Paris").isoformat() == "2025-09-04T07:00:00+02:00"
    assert parse_instant("2025-09-04T07:00Z", "Europe/Paris").isoformat() == "2025-09-04T07:00:00+00:00"
    with pytest.raises(Misused, match="is not a time"):
        parse_instant("yesterday", "UTC")
