"""anabranch config: the settings in force, and where each comes from."""

from __future__ import annotations

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_table


def config(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the settings in force, and where each comes from. Secrets are hidden.

    Example: anabranch config
    """
    rows = list(cli_of(context).project().loaded.in_force())
    if as_json:
        write_json([{"key": key, "value": value, "from": origin} for key, value, origin in rows])
    else:
        write_table(("setting", "value", "from"), rows)
