"""The Spark session of a project: its jars, its settings, its log. One way to start it, for a run and for an operation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from anabranch.project.packages import check_packages
from anabranch.project.project import Project
from anabranch.spark.beside import running_spark, session_beside
from anabranch.spark.executors import SharedPath, await_cores, check_executors
from anabranch.spark.jars import ensure_jars
from anabranch.spark.master import is_local
from anabranch.spark.scala_jar import ensure_scala_jar, is_compiled, session_jars
from anabranch.spark.session import SHORT_RUN_OPTIONS, Session, master_of, start_session
from anabranch.storage.files import make_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


# For anabranch.toml.
SHORT_RUN_SECTION = f'[spark]\ndriver.extraJavaOptions = "{SHORT_RUN_OPTIONS}"\n'


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
    project: Project,
    ui: Busy,
    log_file: Path,
    *,
    changes: Mapping[str, str] | None = None,
    shared: Sequence[SharedPath] = (),
    is_checked: bool = True,
    debug: bool = False,
) -> Session:
    """`shared`: what the executors of a cluster must see. What they run of a user's modules they get by value (load.py)."""
    check_packages()
    with ui.counting("Fetching Spark's jars") as count:
        ensure_jars("spark", project.ivy_settings, count)
    if not is_compiled():
        with ui.busy("Compiling the decoder (once, about 10 s)"):
            ensure_scala_jar()
    make_directory(project.log_dir)
    settings = {**project.settings.spark, **(changes or {})}
    with ui.busy("Starting Spark", f"its log: {log_file}") as phase:
        session = start_session(
            settings,
            zone=project.settings.timezone,
            jars=session_jars(),
            scratch_dir=project.home / "tmp",
            log_file=log_file,
            debug=debug,
            phase=phase,
        )
        if is_checked and not is_local(master_of(settings)):
            try:
                with session.jvm.blamed():
                    check_executors(session.spark, shared, log_file, phase)
            except BaseException:
                # Also where Ctrl-C ends the wait for executors.
                session.jvm.kill()
                raise
    return session


def count_cluster_cores(project: Project, ui: Busy, log_file: Path, changes: Mapping[str, str]) -> int:
    """What the cluster gives to an application of these settings, which it is asked for; 0: nothing in good time."""
    session = open_session(project, ui, log_file, changes=changes, is_checked=False)
    try:
        with ui.busy("Counting the cluster's cores"), session.jvm.blamed():
            return await_cores(session.spark)
    finally:
        session.end()


@contextmanager
def spark_for(project: Project, ui: Busy, log_file: Path, *, debug: bool = False) -> Iterator[SparkSession]:
    """For a command that looks: the Spark of this process where there is one, otherwise one that ends with the block."""
    check_packages()
    running = running_spark()
    if running is not None:
        yield session_beside(running, project.settings.spark, project.settings.timezone)
        return
    # On this machine, also where the project runs on a cluster: what it reads is here.
    session = open_session(project, ui, log_file, changes={"spark.master": "local[*]"}, debug=debug)
    try:
        with session.jvm.blamed():
            yield session.spark
    finally:
        session.end()
