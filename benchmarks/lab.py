"""What all cases share: a project in a temporary directory, its broker, and topics of generated visits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from anabranch.generator.pace import Pace
from anabranch.generator.recipe import Recipe
from anabranch.generator.send import send
from anabranch.generator.timeline import Made
from anabranch.generator.visits import visits
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.embedded.broker import start_broker, stop_broker
from anabranch.project.kafka import cluster_of
from anabranch.project.project import open_project
from anabranch.spark.jars import ensure_jars
from benchmarks.open_visits import SIZES, open_visits, topic_of
from benchmarks.orders import FLAT, NESTED, flat_orders, nested_orders

Say = Callable[[str], None]

# As many as this machine has cores, at the least: with one partition one core would read.
PARTITIONS = 2
VISITS = 500_000
SESSION_VISITS = 100_000
ORDERS = 400_000
# 24 hours of event time in all: the lake of the reprocess case.
_SPACING_S = 24 * 3600 / VISITS
# Where results go, so that both ways write to a topic of the same kind.
RESULT_TOPICS = ("visits_counter", "browser-stats-stateful")


@contextmanager
def laboratory(say: Say) -> Iterator[Path]:
    """A directory with a running broker; both are gone afterwards."""
    with TemporaryDirectory(prefix="anabranch-bench-", ignore_cleanup_errors=True) as name:
        directory = Path(name)
        project = open_project(directory)
        say("Starting Kafka ...")
        start_broker(project.broker_dir, 0, ensure_jars("broker"))
        try:
            _fill(directory, say)
            yield directory
        finally:
            stop_broker(project.broker_dir)


def _fill(directory: Path, say: Say) -> None:
    properties = cluster_of(open_project(directory)).for_python
    admin = KafkaAdmin(properties)
    recipe = Recipe(spacing_s=_SPACING_S)
    contents: dict[str, Iterator[Made]] = {
        "visits": islice(visits(recipe), VISITS),
        "visits_sessions_in": islice(visits(replace(recipe, spacing_s=0.1)), SESSION_VISITS),
        **{topic_of(size): open_visits(size) for size in SIZES},
        FLAT.name: islice(flat_orders(), ORDERS),
        NESTED.name: islice(nested_orders(), ORDERS),
    }
    for name in RESULT_TOPICS:
        admin.create(name, PARTITIONS)
    for name, records in contents.items():
        admin.create(name, PARTITIONS)
        sent = send(properties, name, records, pace=Pace(allow_future=True))
        say(f"{name}: {sent.acknowledged:,} records sent.")
