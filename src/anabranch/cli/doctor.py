"""anabranch doctor: is this machine ready?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from anabranch.cli.output import cli_of, write_json, write_line

_MARKS = {"ok": "ok  ", "slow": "note", "bad": "BAD "}


def doctor(context: typer.Context, as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Is this machine ready: Python, Java, memory, disk, jars, ports, Kafka. Every finding with its remedy.

    Example: anabranch doctor
    """
    from anabranch.project.kafka_checks import examine_all

    cli = cli_of(context)
    with cli.busy("Looking around"):
        findings = examine_all(cli.project())
    if as_json:
        write_json([asdict(finding) for finding in findings])
    else:
        for finding in findings:
            write_line(f"{_MARKS[finding.level]}  {finding.check}: {finding.fact}")
            if finding.remedy and finding.level != "ok":
                write_line(f"      -> {finding.remedy}")
    raise typer.Exit(1 if any(finding.level == "bad" for finding in findings) else 0)
