"""The measured figures in docs/benchmarks.md, between two markers; what stands around them is written by people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.case import Way
from benchmarks.picture import draw
from benchmarks.results import CaseResult, FigureResult, Spread

_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"
_PICTURE = "benchmarks.svg"


def write_report(docs: Path, results: Sequence[CaseResult]) -> None:
    page = docs / "benchmarks.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(_BEGIN)
    after = rest.split(_END)[1]
    page.write_text(f"{before}{_BEGIN}\n{chr(10).join(_lines(results))}\n{_END}{after}", encoding="utf-8")
    (docs / _PICTURE).write_text(draw(results), encoding="utf-8")


def _lines(results: Sequence[CaseResult]) -> Iterator[str]:
    yield f"\n![Ours beside the plain way]({_PICTURE})\n"
    yield "| case | figure | plain | ours | ours / plain | goal | reached |"
    yield "|---|---|---|---|---|---|---|"
    for result in results:
        for figure in result.figures:
            yield _row(result, figure)
    yield "\nMedians, in brackets the least and the most of all rounds.\n"
    yield "| case | peak memory, plain: driver, JVM, workers | ours: driver, JVM, workers | measured | load before |"
    yield "|---|---|---|---|---|"
    for result in results:
        plain, ours = _memory(result, "plain"), _memory(result, "ours")
        yield f"| {result.name} | {plain} | {ours} | {result.when}, {result.machine} | {result.load_before} |"
    yield ""


def _row(result: CaseResult, figure: FigureResult) -> str:
    ratio = "" if figure.ratio is None else f"**{figure.ratio:.2f}x**"
    reached = {None: "", True: "yes", False: "no"}[figure.is_reached]
    cells = [result.summary, figure.name, _spread(figure.plain, result.unit), _spread(figure.ours, result.unit)]
    return f"| {' | '.join(cells)} | {ratio} | {figure.goal or ''} | {reached} |"


def _spread(spread: Spread | None, unit: str) -> str:
    if spread is None:
        return ""
    return f"{spread.median:,.0f} {unit} ({spread.least:,.0f} to {spread.most:,.0f})"


def _memory(result: CaseResult, way: Way) -> str:
    peaks = result.memory_mb.get(way, {})
    return ", ".join(f"{peak:,.0f} MB" for peak in peaks.values())
