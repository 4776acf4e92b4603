"""Projects with one file of pipelines, checked by the real command in this process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from textwrap import dedent
from typing import Any

from tests.support.desk import Desk

_numbers: Iterator[int] = count()

HEAD = """\
import anabranch as ab
from pyspark.sql import DataFrame, functions as F

visits = ab.topic(
    "visits",
    schema="event_time TIMESTAMP NOT NULL, visit_id STRING, user_id STRING, event_id STRING, page STRING, browser STRING",
    event_time="event_time",
)

"""
# The line of the first decorator behind HEAD.
FIRST = len(HEAD.splitlines()) + 1


@dataclass
class CheckedFile:
    desk: Desk
    file: str

    def check(self, *arguments: str) -> tuple[int, str]:
        return self.desk("check", *arguments)

    def checked(self, *arguments: str) -> tuple[int, dict[str, Any]]:
        """What it prints as JSON."""
        code, said = self.check("--json", *arguments)
        assert self.desk.out, said
        return code, json.loads(self.desk.out)

    def findings(self, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
        code, found = self.checked(*arguments)
        assert "pipelines" in found, found
        return code, [finding for one in found["pipelines"] for finding in one["findings"]]


def project_with(desk: Desk, code: str, head: str = HEAD) -> CheckedFile:
    """A file of its own name: a module is imported once in a process."""
    file = f"pipelines_{next(_numbers)}.py"
    (desk.project / file).write_text(head + dedent(code), encoding="utf-8")
    (desk.project / "anabranch.toml").write_text(f'pipelines = ["{file}"]\n', encoding="utf-8")
    return CheckedFile(desk, file)
