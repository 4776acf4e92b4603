"""anabranch demo: everything on this machine, from nothing, in chapters.

A chapter is a title and a function of the stage; a new one is added to CHAPTERS. Each checks what it tells.
"""

from __future__ import annotations

import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from time import monotonic

import typer

from anabranch.cli.demo.stage import Stage
from anabranch.cli.output import FOUND

_VISIT = re.compile(r"Partition\[\d+\] > Printing visit=(Row\(.*\))\n?")
_BATCHES_BEFORE_STOP = 3


def demo(context: typer.Context) -> None:
    """Everything, embedded, from nothing: a broker, visits, a stream, a restart that loses nothing, late visits found and
    repaired, a rewind, and a pipeline of your own.

    Example: anabranch demo
    """
    del context
    began_s = monotonic()
    stage = Stage(Path(mkdtemp(prefix="anabranch-demo-")))
    stage.configure()
    stage.tell(f"Anabranch's demo plays in {stage.directory}, with commands that you could type yourself.")
    try:
        for number, (title, chapter) in enumerate(CHAPTERS, 1):
            stage.tell(f"\n── {number}. {title} " + "─" * max(0, 70 - len(title)))
            chapter(stage)
    finally:
        stage.tell("\nThe demo is over; its broker stops.")
        stage.anabranch("broker", "stop")
    stage.tell(_NEXT.format(directory=stage.directory, seconds=monotonic() - began_s))


def a_broker(stage: Stage) -> None:
    stage.anabranch("broker", "start", "--port", "0")
    stage.anabranch("topics", "create", "visits", "--partitions", "2")


def visits_arrive(stage: Stage) -> None:
    stage.anabranch("generate", "--seed", "1", "--count", "60", "--bad", "5%", "--ledger", str(stage.ledger))


def a_stream_prints_them(stage: Stage) -> None:
    stage.tell("\nA batch a second, at most 10 visits each. Then a Ctrl-C: the batch under way ends first.")
    _run_visits_log(stage, "--trigger", "1s", "--max-offsets", "10", stop_after=_BATCHES_BEFORE_STOP)
    stage.tell(f"\nStopped after {len(stage.printed)} visits.")


def it_resumes_where_it_stopped(stage: Stage) -> None:
    before = len(stage.printed)
    stage.tell("\nMore visits come while it is down. Then it starts again, on its checkpoint.")
    stage.anabranch("generate", "--seed", "2", "--count", "30", "--ledger", str(stage.ledger))
    _run_visits_log(stage, "--until-caught-up")
    _compare_with_ledger(stage, before)


def counts_by_window(stage: Stage) -> None:
    stage.tell("\nOther visits, on a topic of their own: every record goes to the lake, closed windows to a topic.")
    stage.anabranch("topics", "create", "clicks", "--partitions", "1")
    stage.produce("clicks", "07:00", "07:01", "07:02")
    stage.produce("clicks", "07:33", "07:34", "07:35")
    with _both_running(stage):
        stage.await_values("visits_counter", 1)
        stage.produce("clicks", "08:06", "08:07", "08:08")
        stage.await_values("visits_counter", 2)
        stage.tell("\nTwo visits come late. The stream ignores them: their window is closed. The lake has them.")
        stage.produce("clicks", "07:03", "07:04")
        stage.await_lake(11)
        stage.tell("\nWhich results are wrong now? The audit exits with 4, since it finds one.")
        stage.anabranch("audit", "visits-counter", ends_with=FOUND)
        stage.anabranch("explain", "visits-counter", "--window", "2025-09-04T07:00Z")
        stage.tell("\nThat one is corrected, and audited again.")
        stage.anabranch("repair", "visits-counter", "--yes")
        stage.anabranch("consume", "visits_counter")
        stage.tell("\n3 became 5 for 07:00, and the stream went on beside it. It is stopped now.")
        stage.anabranch("stop", "visits-lake", "visits-counter")
    stage.anabranch("audit", "visits-counter")
    stage.anabranch("lateness", "visits-counter")


def a_bad_batch_is_taken_back(stage: Stage) -> None:
    stage.tell("\nA shop's clock is half an hour ahead: three visits seem to come from the future.")
    stage.tell("An operator allows one minute for that, by mistake: good visits reach the lake as problems.")
    stage.produce_ahead("clicks", minutes=30, count=3)
    stage.anabranch("run", "visits-lake", "--until-caught-up", "--future-tolerance", "1m")
    stage.anabranch("problems")
    batch = stage.newest_batch("visits-lake")
    stage.tell(f"\nBatch {batch} is bad. It is taken back, together with the rows that it wrote. No JVM starts for that.")
    stage.anabranch("rewind", "visits-lake", "--to-batch", str(batch), "--yes")
    stage.tell("\nUntil the stream runs again the undo above would put all of it back. It runs again, with the usual hour:")
    stage.anabranch("run", "visits-lake", "--until-caught-up")
    stage.anabranch("problems")
    stage.anabranch("lake")
    stage.tell(f"\nThe lake holds 14 visits, each once: batch {batch} wrote its rows again.")
    stage.await_lake(14)


def a_pipeline_of_ones_own(stage: Stage) -> None:
    stage.tell("\nA topic and a transformation of your own are one file. `init` writes a project with an example.")
    shop = stage.new_project("shop")
    shop.show_file("pipelines.py")
    shop.anabranch("check")
    shop.anabranch("topics", "create", "orders", "--partitions", "1")
    shop.produce_lines(
        "orders", [_order("Ada", "3.50", "07:01"), _order("Ben", "4.00", "07:02"), _order("Ada", "9.99", "07:20")]
    )
    shop.anabranch("run", "orders-lake", "revenue", "--until-caught-up")
    shop.anabranch("consume", "revenue")
    stage.tell("\nAn order of Ada's comes late. The stream drops it: its window is closed. The lake has it.")
    shop.produce_lines("orders", [_order("Ada", "5.00", "07:03")])
    shop.anabranch("run", "orders-lake", "revenue", "--until-caught-up")
    shop.anabranch("reprocess", "revenue", "--from", "2025-09-04T07:00", "--to", "2025-09-04T07:05", "--yes")
    shop.await_values("revenue", 4)
    shop.anabranch("consume", "revenue")
    stage.tell("\n3.50 became 8.50 for Ada, by the same function that the stream runs.")


def _order(customer: str, amount: str, time: str) -> str:
    moment = f"2025-09-04T{time}:00Z"
    return f'{{"order_id": "{customer}-{time}", "customer": "{customer}", "amount": {amount}, "placed_at": "{moment}"}}'


CHAPTERS: tuple[tuple[str, Callable[[Stage], None]], ...] = (
    ("A real Kafka broker, without docker", a_broker),
    ("Visits arrive", visits_arrive),
    ("A Spark Structured Streaming query prints them", a_stream_prints_them),
    ("Stopped in the middle, it resumes where it stopped", it_resumes_where_it_stopped),
    ("Counts by window, late visits; found, explained and repaired beside the running stream", counts_by_window),
    ("A bad batch is taken back, with what it wrote", a_bad_batch_is_taken_back),
    ("A pipeline of your own: checked, run, corrected", a_pipeline_of_ones_own),
)

_NEXT = """
The demo took {seconds:.0f} s. Its project is still there; to continue with it:
  cd {directory}
  anabranch broker start              its data is kept
  anabranch generate --rate 5 &       visits, five a second
  anabranch run visits-log            Ctrl-C ends it after its batch
  anabranch status                    what has been read, and what has not
  anabranch --help                    all commands"""


@contextmanager
def _both_running(stage: Stage) -> Iterator[None]:
    with stage.started("run", "visits-lake", "visits-counter") as process:
        yield
    _must_be_zero(stage, process)


def _run_visits_log(stage: Stage, *options: str, stop_after: int | None = None) -> None:
    batches = 0
    with stage.started("run", "visits-log", *options, piped=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            stage.tell(line.rstrip("\n"))
            batches += line.startswith("✍️")
            stage.printed += _VISIT.findall(line)
            if stop_after is not None and batches > stop_after:
                stage.tell("^C")
                process.send_signal(signal.SIGINT)
                stop_after = None
    _must_be_zero(stage, process)


def _must_be_zero(stage: Stage, process: subprocess.Popen[str]) -> None:
    if process.returncode != 0:
        raise stage.failed(f"visits-log ended with {process.returncode}")


def _compare_with_ledger(stage: Stage, printed_before: int) -> None:
    """Counts, does not claim: what Kafka acknowledged against what was printed in both runs."""
    from datetime import datetime

    from anabranch.generator.ledger import read_ledger

    entries = list(read_ledger(stage.ledger))
    expected: Counter[str] = Counter()
    for entry in entries:
        visit = entry.facts
        if entry.kind != "bad" and visit["event_time"]:
            local = datetime.fromisoformat(visit["event_time"]).replace(tzinfo=None)
            expected[f"Row(visit_id={visit['visit_id']!r}, event_time={local!r}, page={visit['page']!r})"] += 1
    printed = Counter(stage.printed)
    missing, repeated = (expected - printed).total(), (printed - expected).total()
    stage.tell(
        f"\nKafka acknowledged {len(entries)} records, {len(entries) - expected.total()} of them bad on purpose."
        f"\nPrinted before the stop: {printed_before}. After the restart: {len(stage.printed) - printed_before}."
        f"\nOf {expected.total()} good visits {missing} are missing and {repeated} were printed twice."
    )
    if missing or repeated:
        raise stage.failed("the restart did not resume exactly where it stopped")
