"""Pipelines of one's own, through the commands: run together on the real broker, rewound, recomputed, and their file broken."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, read_records
from tests.support.shop import ORDERS, PAYMENTS, PIPELINES, START, Shop

pytestmark = pytest.mark.kafka


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, kafka: dict[str, str], topics: KafkaAdmin) -> Iterator[Shop]:
    """After its first run."""
    shop = Shop(tmp_path_factory.mktemp("own") / "shop", kafka["bootstrap.servers"], topics)
    shop.run()
    yield shop
    shop.project.end()


def _start_of(minute: int) -> str:
    return (START + timedelta(minutes=minute)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _key(**parts: str) -> str:
    return json.dumps(parts, separators=(",", ":"))


def test_every_kind_of_pipeline_gives_what_its_records_say(shop: Shop) -> None:
    # The last event is of 07:59: windows that end at or before 07:49 are closed.
    revenue: dict[str, Decimal] = defaultdict(Decimal)
    for i, order in enumerate(ORDERS):
        if i // 5 * 5 + 5 <= 49:
            revenue[_key(window_start=_start_of(i // 5 * 5), customer=str(order["customer"]))] += Decimal(str(order["amount"]))
    assert {key: value["revenue"] for key, value in shop.results("revenue").items()} == revenue
    sliding = Counter(_key(window_start=_start_of(start)) for i in range(60) for start in (i // 5 * 5, i // 5 * 5 - 5))
    assert {key: value["count"] for key, value in shop.results("sliding").items()} == sliding
    assert sum(record.key is not None for record in read_records(shop.kafka, f"by-batch-{shop.tag}")) >= 3 * 2
    assert shop.large() == sorted(f"o{i}" for i in range(20, 60))
    paid = {order["order_id"] for order in PAYMENTS}
    assert {value["order_id"] for value in shop.results("paid").values()} == paid
    assert {value["customer"]: value["orders"] for value in shop.results("customers").values()} == {"a": 30, "b": 30}


def test_lake_problems_status_and_pipelines_are_about_ones_own(shop: Shop) -> None:
    orders = f"orders-{shop.tag}"
    lake = json.loads(shop.project.ok("lake", orders, "--json"))
    assert (lake["rows"], list(lake["offsets"])) == (62, [orders])
    counts = json.loads(shop.project.ok("problems", "--json"))["counts"]
    assert counts == {"not JSON": 1, "wrong type: amount": 1}
    status = {one["name"]: one for one in json.loads(shop.project.ok("status", "--json"))["pipelines"]}
    assert list(status) == [f"{orders}-lake", *PIPELINES]
    assert {one["state"] for one in status.values()} == {"stopped"}
    assert (status["paid-orders"]["records"], status["paid-orders"]["problems"]) == (102, 2)
    assert status["paid-orders"]["lag"] == {orders: {"0": 0}, f"payments-{shop.tag}": {"0": 0}}
    listed = {one["name"]: one for one in json.loads(shop.project.ok("pipelines", "--json"))}
    assert listed["revenue"]["place"].startswith(f"{shop.file}:")
    assert listed["paid-orders"]["topics"] == [orders, f"payments-{shop.tag}"]


def test_rewound_and_restarted_they_give_the_same(shop: Shop) -> None:
    before = shop.everything()
    for name in ("paid-orders", "customers", "large-orders", "sliding"):
        shop.project.ok("rewind", name, "--to-batch", "1", "--yes")
    assert shop.large() == []
    shop.run()
    assert shop.everything() == before


def test_windows_that_overlap_are_recomputed_from_the_lake(shop: Shop) -> None:
    """A result is spoiled; the recomputed ones are those that the stream emitted, of every window with a time of the range."""
    before = shop.results("sliding")
    key = _key(window_start=_start_of(10))
    GroupProducer(shop.kafka.properties, f"sliding-{shop.tag}").send([(key.encode(), b'{"count": 99}')])
    spoiled = shop.results("sliding")[key]
    arguments = ("--from", "2025-09-04T07:12", "--to", "2025-09-04T07:13", "--yes", "--json")
    plan = json.loads(shop.project.ok("reprocess", "sliding", *arguments))
    assert (spoiled, shop.results("sliding")) == ({"count": 99}, before)
    assert [change["key"] for change in plan["changes"]] == [_key(window_start=_start_of(minute)) for minute in (5, 10)]


@pytest.mark.parametrize("text", ["def broken(:\n", None], ids=["broken", "gone"])
def test_what_rewinds_needs_no_code_and_says_that_it_has_changed(shop: Shop, text: str | None) -> None:
    if text is None:
        shop.file.unlink()
    else:
        shop.file.write_text(text, encoding="utf-8")
    try:
        said = "is gone" if text is None else "changed since"
        for command in (("status",), ("checkpoint", "revenue"), ("pipelines",), ("history", "revenue")):
            done = shop.project(*command)
            assert (done.returncode, said in done.stderr) == (0, True), done.stderr
        rewound = shop.project("rewind", "revenue", "--to-batch", "1", "--yes", "--json")
        assert (rewound.returncode, said in rewound.stderr) == (0, True), rewound.stderr
        shop.project.ok("undo", json.loads(rewound.stdout)["change"]["operation"], "--yes")
        refused = shop.project("run", "revenue")
        assert (refused.returncode, str(shop.file) in refused.stderr) == (2, True), refused.stderr
    finally:
        shop.file.write_text(shop.text, encoding="utf-8")


def test_a_pipeline_that_is_not_declared_any_more_is_known_by_its_checkpoint(shop: Shop) -> None:
    shop.file.write_text(shop.text.replace("def revenue(", "def income("), encoding="utf-8")
    try:
        refused = shop.project("run", "revenue")
        assert (refused.returncode, "unknown-pipeline" in refused.stderr) == (2, True), refused.stderr
        one = {one["name"]: one for one in json.loads(shop.project.ok("status", "--json"))["pipelines"]}["revenue"]
        assert [note["code"] for note in one["notes"]] == ["no-longer-declared"]
        shop.project.ok("rewind", "revenue", "--to-batch", "1", "--dry-run")
    finally:
        shop.file.write_text(shop.text, encoding="utf-8")
