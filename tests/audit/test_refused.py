"""What cannot be audited is refused with its reason and the next command, before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.desk import Desk

HERE = Path(__file__).parents[1] / "pipeline"
MATCHED = '''

@ab.pipeline(orders, payments, window="5m", watermark="10m", key=("window",), to=ab.results(f"matched-{TAG}"))
def matched(orders: DataFrame, payments: DataFrame) -> DataFrame:
    """Orders of 5 minutes that were paid."""
    paid = payments.selectExpr("order_id", "paid_at")
    return orders.join(paid, "order_id").groupBy("window").count()
'''


@pytest.mark.parametrize(
    ("pipeline", "code", "way"),
    [
        ("visits-log", "no-windows", "anabranch lake "),
        ("visits-lake", "no-windows", "anabranch lake "),
        ("visits-sessions", "no-windows", "anabranch lake "),
        ("browsers-stateless", "counts-per-batch", "browsers-stateful"),
        ("visits-windows", "no-result-topic", "pass --topic NAME where it was run with --to topic:NAME"),
        ("visits-counter", "nothing-to-audit", "anabranch run visits-counter"),
        ("browsers-stateful", "nothing-to-audit", "anabranch run browsers-stateful"),
    ],
)
def test_pipelines_of_ours(desk: Desk, pipeline: str, code: str, way: str) -> None:
    assert_refused(desk, code, way, pipeline)


@pytest.fixture
def shop(desk: Desk) -> Desk:
    """With a file whose name is its own: a module is imported once."""
    file = f"refused_{desk.project.parent.name.replace('-', '_')}.py"
    text = (HERE / "own_streams.py").read_text(encoding="utf-8") + MATCHED
    (desk.project / file).write_text(text, encoding="utf-8")
    (desk.project / "customer_state.py").write_text((HERE / "customer_state.py").read_text(encoding="utf-8"), encoding="utf-8")
    (desk.project / "anabranch.toml").write_text(f'pipelines = ["{file}"]\n', encoding="utf-8")
    return desk


def test_pipelines_of_ones_own(shop: Desk) -> None:
    for pipeline, code, way in (
        ("large-orders", "no-windows", "anabranch lake "),
        ("customers", "no-windows", "anabranch lake "),
        ("paid-orders", "no-windows", "anabranch lake "),
        ("by-batch", "no-windows", "anabranch lake "),
        ("matched", "joins-topics", "anabranch rewind matched "),
        ("revenue", "nothing-to-audit", "anabranch run revenue"),
    ):
        assert_refused(shop, code, way, pipeline)


def test_an_empty_range_and_one_beside_since_last(desk: Desk) -> None:
    times = ("--from", "2025-09-04T08:00Z", "--to", "2025-09-04T07:00Z")
    assert_refused(desk, "empty-range", "--from must be before --to", "visits-counter", *times)
    code, said = desk("audit", "visits-counter", "--since-last", *times)
    assert (code, "usage[" in said) == (2, True), said


def assert_refused(desk: Desk, code: str, way: str, *arguments: str) -> None:
    exit_code, said = desk("audit", *arguments, "--json")
    assert (exit_code, json.loads(desk.out)["error"]["code"]) == (3, code), said
    (remedy,) = (line for line in said.splitlines() if line.startswith("  -> "))
    assert way in remedy, said
    assert not (desk.project / ".anabranch" / "audits").exists()
