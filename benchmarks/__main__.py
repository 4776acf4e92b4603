"""`make bench`, `make bench CASES="throughput sessions"`: both ways in turn, then docs/bench.json, table and picture."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic

from benchmarks.case import Case, Way
from benchmarks.cases import NAMES, load_case
from benchmarks.lab import laboratory
from benchmarks.report import write_report
from benchmarks.results import CaseResult, Measured, load_results, save_results

_ROOT = Path(__file__).parents[1]
_DOCS = _ROOT / "docs"
_WAYS: tuple[Way, ...] = ("plain", "ours")


def main(names: list[str]) -> None:
    if unknown := set(names) - set(NAMES):
        sys.exit(f"there is no case {', '.join(sorted(unknown))}. The cases: {' '.join(NAMES)}")
    started_s = monotonic()
    with laboratory(_say) as directory:
        # A part of the cases replaces its own figures alone.
        results = load_results(_DOCS / "bench.json")
        for name in names or NAMES:
            results[name] = _run(load_case(name), directory, started_s)
            save_results(_DOCS / "bench.json", results)
    write_report(_DOCS, [results[name] for name in NAMES if name in results])
    _say(f"Done in {(monotonic() - started_s) / 60:.1f} minutes: docs/benchmarks.md")


def _run(case: Case, directory: Path, started_s: float) -> CaseResult:
    measured: dict[Way, list[Measured]] = {way: [] for way in _WAYS if case.work(way) is not None}
    load = os.getloadavg()[0]
    for number in range(case.rounds):
        for way in measured:
            _say(f"[{(monotonic() - started_s) / 60:4.1f} min] {case.name}, {way}, round {number + 1} of {case.rounds}")
            found = _measure(case, way, directory)
            measured[way].append(found)
            _say("  " + ", ".join(f"{name}: {value:,.0f} {case.unit}" for name, value in found.figures.items()))
    return CaseResult.of(case, measured, when=datetime.now(UTC), load_before=load)


def _measure(case: Case, way: Way, directory: Path) -> Measured:
    command = [sys.executable, "-m", "benchmarks.child", case.name, way, str(directory)]
    # Spark's workers import nothing from the current directory: what the plain way hands to them is named.
    environment = {**os.environ, "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(command, cwd=_ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{case.name}, {way} ended with {done.returncode}.")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
