"""anabranch check: pipelines before they run. No data is read, and no Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import FOUND, AsJson, cli_of, write_json, write_line, write_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from anabranch.check.check import CheckedPipeline
    from anabranch.check.findings import Finding

Names = Annotated[list[str] | None, typer.Argument(metavar="PIPELINE", help="Without one: all of the project.")]


def check(
    context: typer.Context,
    names: Names = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Also run each on drawn events, as a stream and as one batch, and compare.")
    ] = False,
    seed: Annotated[int | None, typer.Option(metavar="N", min=0, help="Draw these events; implies --prove.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare what pipelines declare with what Spark's plan says, before they run.

    Example: anabranch check --prove
    """
    from anabranch.check.check import check_pipelines
    from anabranch.project.project import with_code

    cli = cli_of(context)
    project = with_code(cli.project())
    pipelines = project.find_declared(names or [one.name for one in project.catalog.pipelines])
    drawn = seed if seed is not None else 1 if prove else None
    checked = []
    for one in check_pipelines(project, pipelines, cli, seed=drawn, debug=cli.debug):
        checked.append(one)
        if not as_json:
            write_lines(_lines(one, project.directory))
    if as_json:
        write_json({"pipelines": [one.as_json() for one in checked]})
    else:
        write_line(_summary(checked))
    if any(one.is_wrong for one in checked):
        raise typer.Exit(FOUND)


def _lines(checked: CheckedPipeline, directory: Path) -> Iterator[str]:
    for finding in checked.findings:
        warning = "warning " if finding.level == "warning" else ""
        yield f"{_where(finding, directory)}: {warning}[{finding.code}]: {finding.reason.text}."
        yield from (f"  -> {way}" for way in finding.reason.remedies)
    if checked.proof is not None:
        yield f"{checked.proof.text}."


def _where(finding: Finding, directory: Path) -> str:
    if finding.place is None:
        return finding.pipeline
    file = finding.place.file.removeprefix(f"{directory}/")
    return f"{file}:{finding.place.line}"


def _summary(checked: list[CheckedPipeline]) -> str:
    from anabranch.errors import counted

    levels = [finding.level for one in checked for finding in one.findings]
    found, warnings = levels.count("finding"), levels.count("warning")
    about = f"{counted(found, 'finding')}" if found else "no findings"
    also = f", {counted(warnings, 'warning')}" if warnings else ""
    return f"{counted(len(checked), 'pipeline')} checked: {about}{also}."
