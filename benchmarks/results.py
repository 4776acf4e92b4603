"""What was measured, as values that go to docs/bench.json and come back from it: medians with their ranges, goals, memory."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

from benchmarks.case import Case, Way


@dataclass(frozen=True)
class Measured:
    """What one run of a case found."""

    figures: Mapping[str, float]
    memory_mb: Mapping[str, float]


@dataclass(frozen=True)
class Spread:
    """A figure over all rounds."""

    median: float
    least: float
    most: float

    @staticmethod
    def of(values: list[float]) -> Spread:
        return Spread(round(median(values), 1), round(min(values), 1), round(max(values), 1))


@dataclass(frozen=True)
class FigureResult:
    name: str
    ours: Spread
    plain: Spread | None
    goal: str | None
    # Ours / plain, of the medians.
    ratio: float | None
    is_reached: bool | None


@dataclass(frozen=True)
class CaseResult:
    name: str
    summary: str
    unit: str
    rounds: int
    figures: tuple[FigureResult, ...]
    # By way, then by process: the highest of all rounds.
    memory_mb: Mapping[Way, Mapping[str, float]]
    when: str
    machine: str
    # Of the last minute before: a machine that does other things measures those too.
    load_before: float

    @staticmethod
    def of(case: Case, measured: Mapping[Way, list[Measured]], *, when: datetime, load_before: float) -> CaseResult:
        figures = tuple(_figure(case, name, measured) for name in measured["ours"][0].figures)
        memory = {
            way: {name: round(max(run.memory_mb[name] for run in runs), 0) for name in runs[0].memory_mb}
            for way, runs in measured.items()
        }
        machine = f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}, Python {platform.python_version()}"
        moment = when.isoformat(timespec="minutes")
        return CaseResult(
            case.name, case.summary, case.unit, case.rounds, figures, memory, moment, machine, round(load_before, 1)
        )


def _figure(case: Case, name: str, measured: Mapping[Way, list[Measured]]) -> FigureResult:
    spreads = {way: Spread.of([run.figures[name] for run in runs]) for way, runs in measured.items()}
    ours, plain, goal = spreads["ours"], spreads.get("plain"), (case.goals or {}).get(name)
    ratio = round(ours.median / plain.median, 2) if plain is not None else None
    is_reached = goal.is_reached(ours.median, ratio) if goal is not None else None
    return FigureResult(name, ours, plain, goal.describe() if goal else None, ratio, is_reached)


def save_results(file: Path, results: Mapping[str, CaseResult]) -> None:
    file.write_text(json.dumps({name: asdict(result) for name, result in results.items()}, indent=1) + "\n", encoding="utf-8")


def load_results(file: Path) -> dict[str, CaseResult]:
    if not file.exists():
        return {}
    kept = json.loads(file.read_text(encoding="utf-8"))
    return {name: _case_from(value) for name, value in kept.items()}


def _case_from(value: dict[str, object]) -> CaseResult:
    figures = value.pop("figures")
    assert isinstance(figures, list)
    return CaseResult(figures=tuple(_figure_from(figure) for figure in figures), **value)  # type: ignore[arg-type]


def _figure_from(figure: dict[str, object]) -> FigureResult:
    spreads = {way: Spread(**figure.pop(way)) if figure[way] else figure.pop(way) for way in ("ours", "plain")}  # type: ignore[arg-type]
    return FigureResult(**spreads, **figure)  # type: ignore[arg-type]
