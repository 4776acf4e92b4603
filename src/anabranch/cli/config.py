"""anabranch config: the settings in force, and where each comes from."""

from __future__ import annotations

import typer

from anabranch.cli.output import AsJson, cli_of, errors_json, write_json, write_message, write_table


def config(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the settings in force, and where each comes from. Secrets are hidden. Exits with 2 where a setting is wrong.

    Example: anabranch config
    """
    from anabranch.project.project import check_directory
    from anabranch.project.settings import read_settings

    cli = cli_of(context)
    loaded = read_settings(check_directory(cli.directory))
    rows = list(loaded.in_force())
    settings = [{"key": key, "value": value, "from": origin} for key, value, origin in rows]
    if as_json:
        write_json({**errors_json(loaded.errors), "settings": settings} if loaded.errors else settings)
    else:
        write_table(("setting", "value", "from"), rows)
    for error in loaded.errors:
        write_message(str(error))
    if loaded.errors:
        raise typer.Exit(loaded.errors[0].exit_code)
