"""The executors of a cluster: how many cores they have, and whether they can do the work, before a batch depends on it.

They are looked at by a small job in Python: it needs what every batch needs (resources, our Python, our package), and each
executor says whether it sees a mark that the driver has written beside checkpoint and table.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from anabranch.errors import AnabranchError, Refused
from anabranch.spark import messages
from anabranch.spark.probe import Answer, Mark, look

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POLL_S = 0.5
# An executor of a cluster with free resources registers within seconds.
_PATIENCE_S = 10.0
# How often executors are looked at: some may register while others answer.
_ROUNDS = 3
# Executors of one cluster register within a second of each other, on idle workers: no news for so long, and all have.
_SETTLED_S = 3.0
# Who is refused is told a number: it is worth a minute.
_CORES_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class SharedPath:
    """Where executors read, or write too."""

    path: Path
    is_written: bool = True


def check_executors(
    spark: SparkSession, shared: Sequence[SharedPath], log_file: Path, phase: Callable[[str], None] = lambda _: None
) -> None:
    """Waits for executors, as long as it takes, and says so. Refuses where one cannot do the work."""
    phase("waiting for executors")
    with _marked(shared) as marks:
        answers: dict[tuple[str, int], Answer] = {}
        for _ in range(_ROUNDS):
            tasks = max(1, count_cores(spark))
            for answer in _awaited(spark, partial(_ask, spark, marks, tasks), log_file, phase):
                answers[answer.host, answer.daemon_pid] = answer
            if len(answers) >= len(_executors(spark)):
                break
        for refused in judge(list(answers.values()), marks):
            raise refused


def judge(answers: Sequence[Answer], marks: Sequence[Mark]) -> Iterator[Refused]:
    for mark in marks:
        directory = str(Path(mark.path).parent)
        if hosts := sorted({answer.host for answer in answers if mark.path in answer.unseen}):
            yield messages.PATH_NOT_SHARED(directory=directory, hosts=hosts)
        if hosts := sorted({answer.host for answer in answers if mark.path in answer.unwritable}):
            yield messages.PATH_NOT_WRITABLE(directory=directory, hosts=hosts)


def count_cores(spark: SparkSession) -> int:
    return sum(executor.totalCores() for executor in _executors(spark))


def await_cores(spark: SparkSession) -> int:
    """All that the cluster gives; 0: it has given none in good time."""
    started_s, cores = monotonic(), 0
    # The first executor may take a minute; others, which start beside it, no longer than that again.
    deadline_s, quiet_s = started_s + _CORES_TIMEOUT_S, _SETTLED_S
    while monotonic() < deadline_s:
        # Spark tells nobody in Python of an executor that registers.
        Event().wait(_POLL_S)
        if (found := count_cores(spark)) != cores:
            quiet_s = max(_SETTLED_S, monotonic() - started_s) if cores == 0 else quiet_s
            cores, deadline_s = found, monotonic() + quiet_s
    return cores


def has_executors(spark: SparkSession) -> bool:
    return bool(_executors(spark))


def newest_stage(spark: SparkSession) -> int:
    return next((stage.stageId() for stage in _stages_newest_first(spark)), -1)


def was_retried_since(spark: SparkSession, stage: int) -> bool:
    """Whether a later stage was attempted again, because the output of one before it was lost with an executor."""
    later = takewhile(lambda one: one.stageId() > stage, _stages_newest_first(spark))
    return any(one.attemptId() > 0 for one in later)


def _stages_newest_first(spark: SparkSession) -> Iterator[Any]:
    """Spark's summaries, one for each attempt."""
    jvm = spark._jvm
    assert jvm is not None
    kind = jvm.java.lang.Class.forName("org.apache.spark.status.StageDataWrapper")
    found = spark.sparkContext._jsc.sc().statusStore().store().view(kind).index("stageId").reverse().iterator()
    while found.hasNext():
        yield found.next().info()


def _executors(spark: SparkSession) -> list[Any]:
    """Spark's summaries of those that are alive."""
    every = spark.sparkContext._jsc.sc().statusStore().executorList(True)
    found = [every.apply(number) for number in range(every.size())]
    return [executor for executor in found if executor.id() != "driver"]


def _ask(spark: SparkSession, marks: Sequence[Mark], tasks: int) -> list[Answer]:
    """A task for each core: Spark spreads them over all executors that are idle."""
    return spark.sparkContext.parallelize(range(tasks), tasks).mapPartitions(partial(look, marks)).collect()


def _awaited(
    spark: SparkSession, ask: Callable[[], list[Answer]], log_file: Path, phase: Callable[[str], None]
) -> list[Answer]:
    """In a thread of its own: Spark waits for resources for ever, and says nothing."""
    started_s = monotonic()
    pool = ThreadPoolExecutor(1)
    asked: Future[list[Answer]] = pool.submit(ask)
    pool.shutdown(wait=False)
    while True:
        try:
            return asked.result(_POLL_S)
        except NotYet:
            if has_executors(spark):
                phase("waiting for the first answers of executors")
            elif monotonic() - started_s >= _PATIENCE_S:
                phase(messages.NO_EXECUTOR(memory=_asked_memory(spark)).text)
        except Exception as error:
            raise _failure(str(error), log_file) from None


def _asked_memory(spark: SparkSession) -> str:
    return spark.sparkContext.getConf().get("spark.executor.memory") or "1g"


def _failure(error: str, log_file: Path) -> AnabranchError | KeyboardInterrupt:
    """What keeps executors from running Python, in its own words."""
    if "as part of cancellation of all jobs" in error:
        # PySpark does that at Ctrl-C. Its own KeyboardInterrupt is lost where Python was just releasing a Java object.
        return KeyboardInterrupt()
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    if found := re.search(r"Python in worker has different version: ([\d.]+) than", error):
        return messages.EXECUTOR_PYTHON_DIFFERS(python=python, theirs=found[1])
    if "InvalidClassException: org.apache.spark." in error:
        return messages.EXECUTORS_OTHER_SPARK(version=version("pyspark"))
    if found := re.search(r'Cannot run program "([^"]+)"', error):
        return messages.EXECUTOR_PYTHON_MISSING(python=python, path=found[1])
    return messages.EXECUTORS_FAILED(reason=_summary(error), log=str(log_file))


def _summary(error: str) -> str:
    """The line that names the cause: of the innermost exception, Java's or Python's."""
    lines = re.findall(r"^(?:\s*(?:Caused by)?: )?([\w.$]+(?:Error|Exception)\b.*)", error, re.M)
    return str(lines[-1]) if lines else error.partition("\n")[0]


@contextmanager
def _marked(shared: Sequence[SharedPath]) -> Iterator[list[Mark]]:
    """A mark in the nearest directory that there is above each path. All are removed, also those that executors have added."""
    name, content = f".anabranch-mark-{uuid4().hex}", uuid4().hex
    written: dict[Path, bool] = {}
    for place in shared:
        above = next(parent for parent in place.path.absolute().parents if parent.is_dir())
        written[above] = written.get(above, False) or place.is_written
    try:
        for directory in written:
            (directory / name).write_text(content, encoding="utf-8")
        yield [Mark(str(directory / name), content, is_written) for directory, is_written in written.items()]
    finally:
        for directory in written:
            for left in directory.glob(f"{name}*"):
                left.unlink(missing_ok=True)
