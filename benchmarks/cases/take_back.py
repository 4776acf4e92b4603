"""Showing a checkpoint of 10,000 batches, and rewinding 5,000 of them, each by the real command in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from benchmarks.case import Case, Figures, Goal, Place
from benchmarks.history import write_history

BATCHES, BACK_TO = 10_000, 5_000
# The middle one counts: the first may still find modules and names on the disk.
_LOOKS = 3


@dataclass(frozen=True)
class Cost:
    duration_ms: float
    memory_mb: float


def run(place: Place) -> dict[str, Cost]:
    checkpoint = _checkpoint(place)
    place.say(f"writing a checkpoint of {BATCHES:,} batches")
    _write(checkpoint)
    options = ["--to-batch", str(BACK_TO), "--stopped", "--checkpoint-only"]
    looks = [_cost(place.directory, "checkpoint", str(checkpoint)) for _ in range(_LOOKS)]
    return {
        "checkpoint": sorted(looks, key=lambda look: look.duration_ms)[_LOOKS // 2],
        "rewind": _cost(place.directory, "rewind", str(checkpoint), *options, "--yes"),
    }


def _write(checkpoint: Path) -> None:
    write_history(checkpoint, BATCHES)
    # Else the disk would still be busy with it while we measure.
    os.sync()


def _checkpoint(place: Place) -> Path:
    return place.directory / "checkpoint"


# The peak as the process itself sees it: what its parent is told includes the parent's own.
_RUN = """
import sys
from pathlib import Path
from anabranch.cli.main import run_command
code = run_command(sys.argv[2:])
Path(sys.argv[1]).write_text(Path("/proc/self/status").read_text())
sys.exit(code)
"""


def _cost(directory: Path, *command: str) -> Cost:
    """With all that a person waits for: Python's start, the plan, the moves, the new read at the end."""
    status = directory / "status"
    started_s = monotonic()
    python = [sys.executable, "-c", _RUN, str(status)]
    done = subprocess.run([*python, "-C", str(directory), *command], check=False, capture_output=True, text=True)
    duration_ms = 1000 * (monotonic() - started_s)
    # 4: what was drawn has no real checksums, which is a finding.
    assert done.returncode in (0, 4), done.stderr
    peak_kb = next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return Cost(duration_ms, int(peak_kb) / 1000)


def _ours(place: Place) -> Figures:
    figures = {name: cost.duration_ms for name, cost in run(place).items()}
    return {**figures, "its renames alone": _renames_ms(place)}


def _renames_ms(place: Place) -> float:
    """The same files of a second checkpoint, by nothing but renames: below this no rewind can get.

    Not the same files back: a file that was renamed a moment ago is renamed again in two thirds of the time.
    """
    (rewound,) = (path for path in (_checkpoint(place) / "_rewind").iterdir() if path.is_dir())
    second = place.directory / "second"
    _write(second)
    moved = [path.relative_to(rewound) for path in rewound.rglob("*") if path.parent != rewound and path.is_file()]
    for directory in {path.parent for path in moved}:
        (second / "_rewind" / directory).mkdir(parents=True)
    pairs = [(str(second / path), str(second / "_rewind" / path)) for path in moved]
    started_s = monotonic()
    for source, target in pairs:
        os.rename(source, target)  # noqa: PTH104 - as the command does it
    return 1000 * (monotonic() - started_s)


CASE = Case(
    name="take_back",
    summary=f"a checkpoint of {BATCHES:,} batches: looked at, and rewound to {BACK_TO:,}",
    unit="ms",
    ours=_ours,
    goals={"checkpoint": Goal(within=700), "rewind": Goal(within=1000)},
)
