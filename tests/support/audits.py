"""Audits as a test asks for them, and the results that it spoils."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from anabranch.kafka.records import open_producer
from tests.support.harness import PATIENCE_S, Project

DAY = "2025-09-04"


def audit(project: Project, pipeline: str, *options: str) -> dict[str, Any]:
    """As --json has it. Its exit code says whether a result is wrong."""
    done = project("audit", pipeline, *options, "--json")
    assert done.returncode in (0, 4), done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert (done.returncode == 4) == (found["verdict"]["wrong"] > 0)
    return found


def refused(project: Project, pipeline: str, *options: str) -> tuple[str, str]:
    """The code of a refusal, and all that was said."""
    done = project("audit", pipeline, *options, "--json")
    assert done.returncode == 3, done.stderr
    return json.loads(done.stdout)["error"]["code"], done.stderr


def classes(found: Mapping[str, Any]) -> dict[str, str]:
    """What is listed: the window's begin and what follows it in the key -> the class."""
    return {short(one["key"]): one["class"] for one in found["windows"]}


def short(key: str) -> str:
    """Of a result's key the time of the window's begin, and the other parts."""
    parts = json.loads(key)
    return " ".join([parts.pop("window_start")[11:16], *map(str, parts.values())])


def key_of(start: str, **grouping: str) -> str:
    return json.dumps({"window_start": f"{DAY}T{start}:00.000Z", **grouping}, separators=(",", ":"))


def send_results(
    kafka: Mapping[str, str], topic: str, values: Mapping[str, str | None], headers: Mapping[str, str] | None = None
) -> None:
    """By key, as somebody else would. None: a tombstone."""
    producer = open_producer(kafka)
    for key, value in values.items():
        producer.produce(topic, value, key, headers=dict(headers or {}))
    assert producer.flush(PATIENCE_S) == 0


def visits(times: Iterable[str], browser: str | None = None) -> str:
    """Lines for `produce`."""
    about = {} if browser is None else {"browser": browser}
    return "\n".join(json.dumps({"visit_id": 1, "event_time": f"{DAY}T{time}:00Z", **about}) for time in times)
