"""anabranch setup: everything that can be done before a first run. `make install` calls it."""

from __future__ import annotations

import typer

from anabranch.cli.output import cli_of


def setup(context: typer.Context) -> None:
    """Fetch the jars, compile the decoder and build the class-data archive, which halves Spark's start. Needs a network, once.

    Example: anabranch setup
    """
    from anabranch.project.setup import build_class_archive, compile_scala, fetch_jars, needs_archive, needs_compiling

    cli = cli_of(context)

    project = cli.project()
    counts: dict[str, str] = {}
    with cli.busy("Checking the jars") as phase:

        def fetched(jar_set: str, done: int, total: int) -> None:
            counts[jar_set] = f"{done} of {total} for {jar_set}"
            phase(f"fetching {', '.join(counts.values())}")

        fetch_jars(project, fetched)
    if needs_compiling():
        with cli.busy("Compiling the decoder (once, about 10 s)"):
            compile_scala()
    if not needs_archive():
        return
    with cli.busy("Building a class-data archive (once, about 30 s)"):
        built = build_class_archive()
    if not built:
        cli.say("The archive could not be built. Everything works without it, only Spark starts slower.")
