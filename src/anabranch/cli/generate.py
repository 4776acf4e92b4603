"""anabranch generate: seeded events to a topic, made from its schema."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from anabranch.cli.output import Cli, cli_of, stderr, write_json
from anabranch.errors import counted

if TYPE_CHECKING:
    from anabranch.generator.pace import Pace
    from anabranch.generator.recipe import Recipe
    from anabranch.generator.sender import SendProgress, Sent
    from anabranch.generator.timeline import Made
    from anabranch.project.project import Project

_LINE_EVERY_S = 10.0
Share = Annotated[str, typer.Option(metavar="5%")]


def generate(
    context: typer.Context,
    topic: Annotated[
        str | None, typer.Argument(help="Default: the only topic that the project reads.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same events, byte for byte.")] = 0,
    count: Annotated[int | None, typer.Option(min=0, help="How many records.")] = None,
    duration: Annotated[str | None, typer.Option("--for", metavar="30s", help="For how long.")] = None,
    rate: Annotated[float | None, typer.Option(help="Records a second; without it, as fast as Kafka takes them.")] = None,
    start: Annotated[str | None, typer.Option(metavar="TIME", help="The event clock at the first record, or `now`.")] = None,
    spacing: Annotated[str, typer.Option(metavar="100ms", help="Event time between two records.")] = "100ms",
    visitors: Annotated[int, typer.Option(min=1, help="Visits that are open at once; other ids name 10 times as many.")] = 600,
    late: Share = "0%",
    out_of_order: Share = "0%",
    duplicate: Share = "0%",
    bad: Share = "0%",
    future: Share = "0%",
    ledger: Annotated[Path | None, typer.Option(help="One JSON line here for each acknowledged record.")] = None,
    allow_future: Annotated[
        bool, typer.Option("--allow-future", help="Let the event clock run ahead of the real one.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The counts as JSON on stdout.")] = False,
) -> None:
    """Send events made to order from a topic's schema; Ctrl-C ends it. --late, --bad and the like are shares of all records.

    In a project without pipelines of its own they are visits, whatever the topic is called.

    Example: anabranch generate --seed 7 --count 1000 --late 5% --bad 1% --ledger ledger.jsonl
    """
    from anabranch.generator.recipe import parse_share

    cli = cli_of(context)
    project = cli.project()
    names = ("late", "out_of_order", "duplicate", "bad", "future")
    shares = dict(zip(names, map(parse_share, (late, out_of_order, duplicate, bad, future)), strict=True))
    recipe = _recipe(seed, start, spacing, visitors, shares, project.settings.timezone)
    pace = _pace(rate, count, duration, allow_future)
    name, records = _records(project, topic, recipe)
    _report(cli, _send(cli, project, name, records, pace, ledger), name, as_json)


def _records(project: Project, topic: str | None, recipe: Recipe) -> tuple[str, Iterator[Made]]:
    """The topic that is meant, and what is sent there."""
    from anabranch.generator.events import events
    from anabranch.generator.visits import visits
    from anabranch.pipeline.builtin.visits import VISITS

    if project.known.is_builtin:
        return topic or VISITS.name, visits(recipe)
    found = project.find_topic(topic)
    is_visits = (found.schema, found.event_time) == (VISITS.schema, VISITS.event_time)
    return found.name, visits(recipe) if is_visits else events(found, recipe)


def _recipe(seed: int, start: str | None, spacing: str, visitors: int, shares: dict[str, float], zone: str) -> Recipe:
    from datetime import UTC, datetime

    from anabranch.generator.recipe import DEFAULT_START, Recipe
    from anabranch.text.format import parse_duration_s, parse_instant

    begin = DEFAULT_START
    if start is not None:
        begin = datetime.now(UTC) if start == "now" else parse_instant(start, zone)
    return Recipe(seed=seed, start=begin, spacing_s=parse_duration_s(spacing), visitors=visitors, **shares)


def _pace(rate: float | None, count: int | None, duration: str | None, allow_future: bool) -> Pace:
    from anabranch.generator.pace import Pace
    from anabranch.text.format import parse_duration_s

    duration_s = parse_duration_s(duration) if duration is not None else None
    return Pace(rate_per_s=rate, count=count, duration_s=duration_s, allow_future=allow_future)


def _send(cli: Cli, project: Project, topic: str, records: Iterator[Made], pace: Pace, ledger: Path | None) -> Sent:
    from anabranch.generator.ledger import Ledger
    from anabranch.generator.send import send
    from anabranch.project.kafka import cluster_of

    stop = Event()
    signal.signal(signal.SIGINT, lambda _number, _frame: stop.set())
    signal.signal(signal.SIGTERM, lambda _number, _frame: stop.set())
    with Ledger(ledger) if ledger else nullcontext() as book, _showing(cli, pace.count) as show:
        properties = cluster_of(project).for_python
        return send(properties, topic, records, pace=pace, ledger=book, progress=show, stop=stop)


def _report(cli: Cli, sent: Sent, topic: str, as_json: bool) -> None:
    kinds = {kind: number for kind, number in sent.by_kind.items() if number}
    rate = sent.acknowledged / sent.elapsed_s if sent.elapsed_s else 0.0
    times = [time.isoformat() if time else None for time in (sent.first_event_time, sent.last_event_time)]
    if as_json:
        write_json(
            {
                "acknowledged": sent.acknowledged,
                "by_kind": kinds,
                "seconds": round(sent.elapsed_s, 3),
                "records_per_second": round(rate),
                "first_event_time": times[0],
                "last_event_time": times[1],
            }
        )
    parts = ", ".join(f"{number:,} {kind}" for kind, number in kinds.items())
    records = counted(sent.acknowledged, "record")
    cli.say(f"{records} acknowledged in {topic} ({parts or 'none'}), {rate:,.0f} a second.")


@contextmanager
def _showing(cli: Cli, count: int | None) -> Iterator[Callable[[SendProgress], None]]:
    """A bar on a terminal, one line every ten seconds elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = stderr()
    said_at_s = 0.0

    with Progress(
        *(TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()),
        console=console,
        disable=cli.quiet or not console.is_terminal,
        transient=True,
    ) as bar:
        task = bar.add_task("sending", total=count)

        def show(progress: SendProgress) -> None:
            nonlocal said_at_s
            text = _describe(progress)
            bar.update(task, completed=progress.acknowledged, description=text)
            if not console.is_terminal and progress.elapsed_s - said_at_s >= _LINE_EVERY_S:
                said_at_s = progress.elapsed_s
                cli.say(f"{progress.acknowledged:,} acknowledged: {text}")

        yield show


def _describe(progress: SendProgress) -> str:
    rate = progress.acknowledged / progress.elapsed_s if progress.elapsed_s else 0.0
    text = f"{rate:,.0f} a second"
    if progress.holding_back:
        text += ", the event clock waits for the real one (--allow-future)"
    return f"{text}, {progress.trouble}" if progress.trouble else text
