"""Visits made to order, without a broker: the records, the ledger, the pace, and sending to an outbox in memory."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message
from hypothesis import given
from hypothesis import strategies as st

from anabranch.errors import Failed, Misused
from anabranch.generator.ledger import Ledger, LedgerEntry, read_ledger
from anabranch.generator.pace import Pace
from anabranch.generator.recipe import KINDS, Recipe, parse_share
from anabranch.generator.sender import OnDelivery, Progress, Sender
from anabranch.generator.spoil import spoil
from anabranch.generator.visits import Made, visits

MIXED = Recipe(seed=7, late=0.05, out_of_order=0.05, duplicate=0.05, bad=0.05, future=0.05)
FIELDS = ("event_id", "visit_id", "user_id", "event_time", "page", "browser")


def make(recipe: Recipe, count: int) -> list[Made]:
    return list(islice(visits(recipe), count))


def event_time(made: Made) -> datetime:
    assert made.event_time is not None
    return datetime.fromisoformat(made.event_time)


def clock(made: Made) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=made.clock_us)


# The records


def test_the_first_thousand_records_of_a_seed_are_the_same_on_every_python() -> None:
    # If this changes, every seed means something else from now on: say so in the changelog.
    digest = hashlib.sha256(b"".join(made.key + b"\n" + made.value + b"\n" for made in make(MIXED, 1000)))
    assert digest.hexdigest() == "beec215c3eff4571abc0c4499db8116ae48bc33720100f79c11fb15bbe8a24f2"


def test_the_same_recipe_gives_the_same_records_and_another_seed_gives_others() -> None:
    assert make(MIXED, 500) == make(MIXED, 500)
    ours, theirs = ({made.value for made in make(Recipe(seed=seed), 500)} for seed in (1, 2))
    assert not ours & theirs


def test_a_value_is_json_with_the_fields_of_the_record_and_its_key_is_the_visit() -> None:
    for made in make(MIXED, 2000):
        if made.kind != "bad":
            assert json.loads(made.value) == {name: getattr(made, name) for name in FIELDS}
            assert made.key.decode() == made.visit_id


def test_good_records_come_in_the_order_of_their_event_times_from_the_start_on() -> None:
    start = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
    times = [event_time(made) for made in make(Recipe(start=start, spacing_s=2), 1000)]
    assert times == sorted(times)
    assert start <= times[0] < start + timedelta(seconds=2)
    assert start + timedelta(seconds=1998) <= times[-1] < start + timedelta(seconds=2000)


def test_a_start_in_another_zone_is_the_same_moment() -> None:
    east = datetime.fromisoformat("2025-09-04T09:00:00+02:00")
    assert make(Recipe(start=east), 50) == make(Recipe(start=east.astimezone(UTC)), 50)


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        ("good", timedelta(0), timedelta(0)),
        ("out-of-order", timedelta(minutes=-5), timedelta(seconds=-5)),
        ("late", timedelta(hours=-6), timedelta(minutes=-30)),
        ("future", timedelta(days=36_500), timedelta(days=73_000)),
    ],
)
def test_each_kind_lies_where_it_should_on_the_event_clock(kind: str, least: timedelta, most: timedelta) -> None:
    away = [event_time(made) - clock(made) for made in make(MIXED, 3000) if made.kind == kind]
    assert away
    assert least <= min(away) <= max(away) <= most


def test_a_duplicate_repeats_an_earlier_good_record_byte_for_byte() -> None:
    good: set[tuple[bytes, bytes]] = set()
    for made in make(MIXED, 3000):
        assert made.kind != "duplicate" or (made.key, made.value) in good
        if made.kind == "good":
            good.add((made.key, made.value))


def test_an_event_id_is_given_once_and_again_only_to_duplicates() -> None:
    ids = Counter(made.event_id for made in make(MIXED, 3000) if made.kind not in ("duplicate", "bad"))
    assert set(ids.values()) == {1}


def test_shares_come_out_as_asked_and_the_rest_is_good() -> None:
    count = 20_000
    kinds = Counter(made.kind for made in make(MIXED, count))
    assert set(kinds) == set(KINDS)
    for kind, share in MIXED.shares().items():
        assert kinds[kind] / count == pytest.approx(share, abs=0.006)


def test_all_records_can_be_of_one_kind_but_a_duplicate_needs_a_first() -> None:
    assert {made.kind for made in make(Recipe(bad=1), 200)} == {"bad"}
    assert [made.kind for made in make(Recipe(duplicate=1), 3)] == ["good", "duplicate", "duplicate"]
    assert Counter(made.kind for made in make(Recipe(duplicate=0.5, late=0.5), 50))["good"] == 1


def test_visits_have_several_pages_one_user_and_one_browser() -> None:
    pages: dict[str | None, list[Made]] = {}
    for made in make(Recipe(visitors=20), 4000):
        pages.setdefault(made.visit_id, []).append(made)
    assert len(pages) > 200
    finished = sorted(pages.values(), key=len)[20:]  # up to 20 are still open
    assert all(2 <= len(visit) <= 31 for visit in finished)
    assert all(len({(made.user_id, made.browser) for made in visit}) == 1 for visit in pages.values())
    assert {visit[0].page for visit in pages.values()} == {"index", "home", "main"}
    assert len({visit[0].browser for visit in pages.values()}) == 4


def test_every_way_to_spoil_a_value_leaves_no_usable_event() -> None:
    (made,) = make(Recipe(), 1)
    spoiled = {spoil(made.value, n / 100)[0] for n in range(100)}
    assert len(spoiled) == 17
    assert not [value for value in spoiled if is_usable(value)]


def is_usable(value: bytes) -> bool:
    try:
        event = json.loads(value.decode())
        year = datetime.fromisoformat(event["event_time"]).year
    except (ValueError, TypeError, KeyError):
        return False
    return len(event["event_time"]) > len("2025-09-04") and 1970 <= year <= 9998


def test_a_bad_record_shows_the_fields_that_can_be_read() -> None:
    shown = {(made.visit_id is not None, made.event_time is not None) for made in make(Recipe(bad=1), 200)}
    assert shown == {(True, False), (False, False)}


# The recipe


@given(st.integers(0, 100))
def test_a_share_reads_the_same_as_percent_and_as_fraction(percent: int) -> None:
    assert parse_share(f"{percent}%") == parse_share(f" {percent} % ") == parse_share(str(percent / 100))


@given(st.text())
def test_whatever_is_written_is_a_share_or_is_refused(text: str) -> None:
    with suppress(Misused):
        assert 0 <= parse_share(text) <= 1


@pytest.mark.parametrize("text", ["", "%", "5", "101%", "1.01", "-5%", "nan", "inf", "1e-2", "five", "1_0%"])
def test_what_is_not_a_share_is_refused(text: str) -> None:
    with pytest.raises(Misused, match="not a share"):
        parse_share(text)


def test_a_bare_five_is_answered_with_five_percent() -> None:
    with pytest.raises(Misused) as refusal:
        parse_share("5")
    assert "5%" in str(refusal.value)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Recipe(late=0.6, bad=0.5),
        lambda: Recipe(late=-0.1),
        lambda: Recipe(bad=float("nan")),
        lambda: Recipe(seed=-1),
        lambda: Recipe(start=datetime(2025, 9, 4)),
        lambda: Recipe(start=datetime(1970, 1, 1, tzinfo=UTC)),
        lambda: Recipe(spacing_s=0),
        lambda: Recipe(spacing_s=float("nan")),
        lambda: Recipe(visitors=0),
        lambda: Pace(rate_per_s=0),
        lambda: Pace(rate_per_s=float("nan")),
        lambda: Pace(count=-1),
        lambda: Pace(duration_s=-1),
    ],
)
def test_what_cannot_be_made_or_sent_is_refused(wrong: Callable[[], object]) -> None:
    with pytest.raises(Misused):
        wrong()


def test_shares_that_add_up_to_one_but_for_rounding_are_taken() -> None:
    assert sum(Recipe(late=0.1, out_of_order=0.2, duplicate=0.7).shares().values()) == pytest.approx(1)


# The ledger


def test_a_ledger_reads_back_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "ledger.jsonl"
    records = make(MIXED, 300)
    with Ledger(path) as ledger:
        for offset, made in enumerate(records):
            ledger.add("visits", offset % 2, offset, 1_700_000_000_000 + offset, made)
    assert list(read_ledger(path)) == [
        LedgerEntry("visits", n % 2, n, 1_700_000_000_000 + n, made.kind, *made[4:]) for n, made in enumerate(records)
    ]


def test_a_second_run_adds_to_a_ledger_and_a_half_line_of_a_killed_one_goes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    first, second = make(MIXED, 2)
    with Ledger(path) as ledger:
        ledger.add("visits", 0, 0, 1, first)
    with path.open("a") as file:
        file.write('{"topic":"visits","partiti')
    assert [entry.offset for entry in read_ledger(path)] == [0]
    with Ledger(path) as ledger:
        ledger.add("visits", 0, 1, 2, second)
    assert [entry.offset for entry in read_ledger(path)] == [0, 1]


def test_a_file_that_is_no_ledger_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary")
    with pytest.raises(Misused, match="not a ledger"):
        Ledger(path)
    assert path.read_text() == "dear diary"


def test_a_ledger_that_cannot_be_opened_is_a_failure_with_its_path(tmp_path: Path) -> None:
    with pytest.raises(Failed, match=str(tmp_path)):
        Ledger(tmp_path)


# The pace


def test_a_rate_is_a_schedule_that_makes_up_for_slow_moments() -> None:
    pace = Pace(rate_per_s=100, count=250)
    assert pace.due(sent=0, elapsed_s=0.0) == 1
    assert pace.due(sent=1, elapsed_s=0.001) == 0
    assert pace.next_due_s(sent=1, elapsed_s=0.001) == pytest.approx(0.009)
    assert pace.due(sent=1, elapsed_s=2.0) == 200
    assert pace.due(sent=201, elapsed_s=60.0) == 49
    assert pace.due(sent=250, elapsed_s=60.0) is None


def test_a_duration_ends_it_and_without_a_rate_there_is_always_something_due() -> None:
    pace = Pace(duration_s=5)
    assert pace.due(sent=0, elapsed_s=4.9) == pace.due(sent=10**9, elapsed_s=4.9) != 0
    assert pace.due(sent=10, elapsed_s=5.0) is None
    assert Pace(count=0).due(sent=0, elapsed_s=0.0) is None


# Sending


class MemoryOutbox:
    """A producer's twin: takes `room` records between two polls, and acknowledges them at a poll until `fails_at`."""

    def __init__(self, room: int = 10_000, fails_at: int | None = None) -> None:
        self.room, self.fails_at = room, fails_at
        self.taken: list[bytes] = []
        self._waiting: list[OnDelivery] = []
        self._next_offset = 0

    def produce(self, _topic: str, value: bytes, _key: bytes, _partition: int, on_delivery: OnDelivery, /) -> None:
        if len(self._waiting) == self.room:
            raise BufferError("queue full")
        self.taken.append(value)
        self._waiting.append(on_delivery)

    def poll(self, _timeout: float, /) -> int:
        waiting, self._waiting = self._waiting, []
        for on_delivery in waiting:
            failed = self.fails_at is not None and self._next_offset >= self.fails_at
            message = Message(topic="visits", partition=0, offset=self._next_offset, timestamp=(1, 0))
            on_delivery(KafkaError(KafkaError._MSG_TIMED_OUT) if failed else None, message)
            self._next_offset += 1
        return len(waiting)

    def flush(self, timeout: float, /) -> int:
        self.poll(timeout)
        return 0

    def __len__(self) -> int:
        return len(self._waiting)


def test_a_full_queue_is_waited_for_and_every_record_is_sent_once_and_in_order() -> None:
    outbox = MemoryOutbox(room=7)
    sent = Sender("visits", "here:1", Pace(count=1500)).run(outbox, visits(MIXED))
    records = make(MIXED, 1500)
    assert outbox.taken == [made.value for made in records]
    assert sent.acknowledged == 1500
    assert sent.by_kind == Counter(made.kind for made in records)
    assert (sent.first_event_time, sent.last_event_time) == (clock(records[0]), clock(records[-1]))


def test_records_that_end_end_the_sending() -> None:
    assert Sender("visits", "here:1", Pace()).run(MemoryOutbox(), iter(make(MIXED, 1234))).acknowledged == 1234
    assert Sender("visits", "here:1", Pace()).run(MemoryOutbox(), iter([])).first_event_time is None


def test_what_is_not_delivered_is_a_failure_that_says_where_and_how_many_were(tmp_path: Path) -> None:
    with (
        Ledger(tmp_path / "ledger") as ledger,
        pytest.raises(Failed, match=r"visits at here:1 .* 1500 were acknowledged"),
    ):
        Sender("visits", "here:1", Pace(), ledger).run(MemoryOutbox(fails_at=1500), visits(MIXED))
    assert [entry.offset for entry in read_ledger(tmp_path / "ledger")] == list(range(1500))


def test_a_stop_ends_it_with_everything_acknowledged() -> None:
    stop = threading.Event()

    def stopping() -> Iterator[Made]:
        for number, made in enumerate(visits(MIXED)):
            if number == 2500:
                stop.set()
            yield made

    outbox = MemoryOutbox()
    sent = Sender("visits", "here:1", Pace(), stop=stop).run(outbox, stopping())
    assert 2500 < sent.acknowledged == len(outbox.taken)


def test_a_stop_is_heard_while_the_queue_is_full_and_the_broker_away() -> None:
    class Stuck(MemoryOutbox):
        def poll(self, _timeout: float, /) -> int:
            return 0

        def flush(self, timeout: float, /) -> int:
            return super().poll(timeout) * 0

    stop = threading.Event()
    sender = Sender("visits", "here:1", Pace(), progress=lambda _: stop.set(), stop=stop)
    sent = sender.run(Stuck(room=5), visits(MIXED))
    assert sent.acknowledged == sum(sent.by_kind.values()) == 5


def test_the_event_clock_waits_at_the_future_guard_and_says_so_but_future_records_do_not() -> None:
    start = datetime.now(UTC)
    recipe = Recipe(start=start, spacing_s=600, future=0.5)
    told: list[Progress] = []
    pace = Pace(duration_s=0.5)
    sent = Sender("visits", "here:1", pace, progress=told.append).run(MemoryOutbox(), visits(recipe))
    assert sent.acknowledged == 6  # an hour of 10 minutes each
    assert sent.by_kind["future"] > 0
    assert any(progress.holding_back for progress in told)


def test_the_event_clock_may_run_ahead_when_asked_to() -> None:
    recipe = Recipe(start=datetime.now(UTC), spacing_s=600)
    assert (
        Sender("visits", "here:1", Pace(count=500, allow_future=True)).run(MemoryOutbox(), visits(recipe)).acknowledged == 500
    )


def test_a_rate_is_kept_without_running_ahead() -> None:
    started_s = time.monotonic()
    sent = Sender("visits", "here:1", Pace(rate_per_s=200, count=41)).run(MemoryOutbox(), visits(MIXED))
    assert sent.acknowledged == 41
    assert time.monotonic() - started_s >= 0.19
