"""One case, one way, in a process of its own: a fresh JVM, fresh peaks of memory. Prints its figures as one line of JSON.

`python -m benchmarks.child CASE WAY DIRECTORY`, where the directory is a laboratory (lab.py).
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import mkdtemp
from threading import Event, Thread
from time import monotonic

import psutil

from anabranch.project.kafka import cluster_of
from anabranch.project.project import open_project
from benchmarks.case import Place, Way
from benchmarks.cases import load_case
from benchmarks.spark import open_session

_SAMPLE_EVERY_S = 0.5
_MB = 1_000_000


@dataclass
class MemoryWatch:
    """The peaks of resident memory: this driver, its JVM, and Python's workers under it."""

    jvm_pid: int
    peaks_mb: dict[str, float] = field(default_factory=lambda: {"driver": 0.0, "jvm": 0.0, "workers": 0.0})
    _over: Event = field(default_factory=Event)

    def __enter__(self) -> MemoryWatch:
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        jvm = psutil.Process(self.jvm_pid)
        while not self._over.wait(_SAMPLE_EVERY_S):
            seen = {"driver": _resident(psutil.Process()), "jvm": _resident(jvm)}
            seen["workers"] = sum(_resident(child) for child in jvm.children(recursive=True) if _is_python(child))
            self.peaks_mb = {name: max(peak, seen[name] / _MB) for name, peak in self.peaks_mb.items()}


def _is_python(process: psutil.Process) -> bool:
    """Not Hadoop's `chmod`, which for a moment shows the memory of the JVM that it was forked from."""
    try:
        return "python" in process.name()
    except psutil.Error:
        return False


def _resident(process: psutil.Process) -> int:
    try:
        return process.memory_info().rss
    except psutil.Error:  # it has just ended
        return 0


def measure(case_name: str, way: Way, laboratory: Path) -> dict[str, object]:
    work = load_case(case_name).work(way)
    assert work is not None
    started_s = monotonic()
    directory = Path(mkdtemp(prefix=f"{case_name}-{way}-", dir=laboratory))

    def say(text: str) -> None:
        print(f"  {case_name}, {way}, {monotonic() - started_s:.0f} s: {text}", file=sys.stderr, flush=True)  # noqa: T201

    session = open_session(way, directory)
    try:
        with MemoryWatch(session.jvm.pid) as memory:
            kafka = cluster_of(open_project(laboratory)).for_java
            figures = work(Place(session.spark, kafka, directory, laboratory, say))
    finally:
        session.end()
    return {"figures": figures, "memory_mb": memory.peaks_mb}


if __name__ == "__main__":
    case_name, way, laboratory = sys.argv[1:]
    print(json.dumps(measure(case_name, "ours" if way == "ours" else "plain", Path(laboratory))))  # noqa: T201
