"""anabranch broker: a real Kafka broker for this project, without docker."""

from __future__ import annotations

from typing import Annotated

import typer

from anabranch.cli.output import cli_of, write_json, write_line

app = typer.Typer(help="A real Kafka broker (KRaft, one node, loopback) for this project.", no_args_is_help=True)


@app.command()
def start(
    context: typer.Context,
    port: Annotated[int | None, typer.Option(help="0 takes a free one. Default: broker.port, 9094.", min=0, max=65535)] = None,
) -> None:
    """Start the broker, and return when it answers.

    Example: anabranch broker start --port 0
    """
    from anabranch.kafka.embedded.broker import start_broker
    from anabranch.spark.jars import ensure_jars

    cli = cli_of(context)
    project = cli.project()
    with cli.counting("Fetching Kafka's jars") as count:
        jars = ensure_jars("broker", project.ivy_settings, count)
    with cli.busy("Starting Kafka"):
        broker, started = start_broker(project.broker_dir, project.settings.broker.port if port is None else port, jars)
    cli.say(f"{'Kafka answers' if started else 'Kafka runs already'} on {broker.address} (process {broker.mark.pid}).")


@app.command()
def stop(context: typer.Context) -> None:
    """Stop the broker cleanly, and wait for it. Its data stays.

    Example: anabranch broker stop
    """
    from anabranch.kafka.embedded.broker import stop_broker

    cli = cli_of(context)
    with cli.busy("Stopping Kafka"):
        broker = stop_broker(cli.project().broker_dir)
    cli.say("Kafka has stopped." if broker else "No broker of this project runs.")


@app.command()
def status(context: typer.Context, as_json: Annotated[bool, typer.Option("--json")] = False) -> None:
    """Is the broker running, and where? Exit 0 if it answers, 1 if not.

    Example: anabranch broker status --json
    """
    from anabranch.kafka.admin import ANSWER_TIMEOUT_S, answers
    from anabranch.kafka.embedded.broker import find_broker

    broker = find_broker(cli_of(context).project().broker_dir)
    running = broker is not None and answers(broker.address, ANSWER_TIMEOUT_S)
    if as_json:
        write_json(
            {
                "running": running,
                "address": broker.address if broker else None,
                "pid": broker.mark.pid if broker else None,
            }
        )
    elif broker is None:
        write_line("not running")
    else:
        write_line(f"{'running' if running else 'does not answer'} on {broker.address}, process {broker.mark.pid}")
    raise typer.Exit(0 if running else 1)
