"""A command of the product in a process of its own: how long it takes, and how much memory it has at its peak."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep

import psutil

_EVERY_S = 0.05


@dataclass
class Cost:
    duration_ms: float = 0.0
    # The process of Python, and its JVM; 0: it had none.
    python_mb: float = 0.0
    jvm_mb: float = 0.0
    output: str = field(default="", repr=False)


def cost_of(directory: Path, *command: str, codes: tuple[int, ...] = (0,)) -> Cost:
    """With all that a person waits for. `codes`: those that it may end with."""
    cost, output = Cost(), directory / "output.txt"
    with output.open("wb") as file:
        started_s = monotonic()
        python = [sys.executable, "-m", "anabranch", "-q", "-C", str(directory), *command]
        process = subprocess.Popen(python, stdout=file, stderr=subprocess.STDOUT, env=os.environ)
        while process.poll() is None:
            cost.python_mb = max(cost.python_mb, _peak_mb(process.pid))
            cost.jvm_mb = max(cost.jvm_mb, *(_peak_mb(child) for child in _jvms(process.pid)), 0.0)
            sleep(_EVERY_S)
        cost.duration_ms = 1000 * (monotonic() - started_s)
    cost.output = output.read_text(encoding="utf-8")
    assert process.returncode in codes, f"{' '.join(command)}: {process.returncode}\n{cost.output[-2000:]}"
    return cost


def _jvms(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True) if child.name() == "java"]
    except psutil.Error:
        return []


def _peak_mb(pid: int) -> float:
    """As the system has kept it for the process: no peak is missed between two looks."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:  # it has just ended
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmHWM")), 0.0)
