"""anabranch lake: what the lake holds. No JVM."""

from __future__ import annotations

from dataclasses import asdict

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_table

app = typer.Typer(help="Rows, files and offsets of the lake.", invoke_without_command=True)


@app.callback()
def lake(context: typer.Context, as_json: AsJson = False) -> None:
    """Show path, rows, files, bytes, version, offsets per partition and newest record of the lake.

    Example: anabranch lake --json
    """
    if context.invoked_subcommand is not None:
        return
    from anabranch.project.lake import lake_state

    state = lake_state(cli_of(context).project())
    if as_json:
        write_json(asdict(state))
        return
    offsets = [
        f"{topic} {partition}: {first}..{end}"
        for topic, partitions in state.offsets.items()
        for partition, (first, end) in partitions.items()
    ]
    write_table(
        ("lake", state.path),
        [
            ("version", str(state.version)),
            ("rows", f"{state.rows:,}"),
            ("files", f"{state.files:,}"),
            ("bytes", f"{state.bytes:,}"),
            ("offsets", "  ".join(offsets)),
            ("newest record", state.newest_record or "-"),
            ("newest event", state.newest_event or "-"),
        ],
    )


@app.command()
def optimize(context: typer.Context) -> None:
    """Compact small files. The rows, and what a rewind needs, stay as they are.

    Example: anabranch lake optimize
    """
    from anabranch.project.lake import compact

    cli = cli_of(context)
    with cli.busy("Compacting small files"):
        before, after = compact(cli.project())
    cli.say(f"{before:,} files are now {after:,}.")
