"""The Spark session of a project: its jars, its settings, its log. One way to start it, for a run and for an operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from anabranch.project.packages import check_packages
from anabranch.project.project import Project
from anabranch.spark.jars import ensure_jars
from anabranch.spark.session import Session, start_session
from anabranch.storage.files import make_directory


class Count(Protocol):
    """Takes how much is done, of how much, and what else there is to say about it."""

    def __call__(self, done: int, total: int, note: str = "") -> None: ...


class Busy(Protocol):
    """Shows a person that something is under way. `busy` yields what names the part that is waited for."""

    def busy(self, what: str, hint: str = "") -> AbstractContextManager[Callable[[str], None]]: ...
    def counting(self, what: str) -> AbstractContextManager[Count]: ...


def new_log_file(project: Project, purpose: str) -> Path:
    return project.log_dir / f"{purpose}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}.log"


def open_session(
    project: Project, ui: Busy, log_file: Path, *, changes: Mapping[str, str] | None = None, debug: bool = False
) -> Session:
    check_packages()
    with ui.counting("Fetching Spark's jars") as count:
        jars = ensure_jars("spark", project.ivy_settings, count)
    make_directory(project.log_dir)
    with ui.busy("Starting Spark", f"its log: {log_file}") as phase:
        return start_session(
            {**project.settings.spark, **(changes or {})},
            zone=project.settings.timezone,
            jars=jars,
            scratch_dir=project.home / "tmp",
            log_file=log_file,
            debug=debug,
            phase=phase,
        )
