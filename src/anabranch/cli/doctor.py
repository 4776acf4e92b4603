"""anabranch doctor: is this machine ready?"""

from __future__ import annotations

from dataclasses import asdict

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_line

_MARKS = {"ok": "ok  ", "slow": "note", "bad": "BAD "}


def doctor(context: typer.Context, as_json: AsJson = False) -> None:
    """Is this machine ready: Python, Java, memory, disk, jars, ports, Kafka. Every result with its remedy.

    Example: anabranch doctor
    """
    from anabranch.project.doctor import run_checks

    cli = cli_of(context)
    with cli.busy("Checking this machine"):
        results = run_checks(cli.project())
    if as_json:
        write_json([asdict(result) for result in results])
    else:
        for result in results:
            write_line(f"{_MARKS[result.level]}  {result.check}: {result.fact}")
            if result.remedy and result.level != "ok":
                write_line(f"      -> {result.remedy}")
    raise typer.Exit(1 if any(result.level == "bad" for result in results) else 0)
