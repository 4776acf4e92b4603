"""anabranch broker: a real Kafka broker for this project, without docker."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.output import AsJson, cli_of, write_json, write_line

app = typer.Typer(help="A real Kafka broker (KRaft, one node, loopback) for this project.", no_args_is_help=True)


@app.command()
def start(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="0 takes a free one. Default: broker.port, 9094.", min=0, max=65535)] = None,
) -> None:
    """Start the broker, and return when it answers.

    Example: anabranch broker start --port 0
    """
    from anabranch.project import broker

    cli = cli_of(context)
    running, started = broker.start(cli.project(), port, cli)
    cli.say(f"{'Kafka answers' if started else 'Kafka is already running'} on {running.address} (process {running.mark.pid}).")


@app.command()
def stop(context: typer.Context) -> None:
    """Stop the broker cleanly, and wait for it. Its data stays.

    Example: anabranch broker stop
    """
    from anabranch.project import broker

    cli = cli_of(context)
    with cli.busy("Stopping Kafka"):
        stopped = broker.stop(cli.project())
    cli.say("Kafka has stopped." if stopped else "No broker of this project is running.")


@app.command()
def status(context: typer.Context, as_json: AsJson = False) -> None:
    """Is the broker running, and where? Exit 0 if it answers, 1 if not.

    Example: anabranch broker status --json
    """
    from anabranch.project import broker

    found, answers = broker.find(cli_of(context).project())
    if as_json:
        address, pid = (found.address, found.mark.pid) if found else (None, None)
        write_json({"running": answers, "address": address, "pid": pid})
    elif found is None:
        write_line("not running")
    else:
        write_line(f"{'running' if answers else 'does not answer'} on {found.address}, process {found.mark.pid}")
    raise typer.Exit(0 if answers else 1)
