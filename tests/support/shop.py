"""A project with pipelines of its own, and the orders that they read."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

from deltalake import DeltaTable

from anabranch.delta.table import query
from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import latest_by_key, read_records
from tests.support.harness import Project

HERE = Path(__file__).parents[1] / "pipeline"
PIPELINES = ("revenue", "sliding", "by-batch", "large-orders", "paid-orders", "customers")
START = datetime.fromisoformat("2025-09-04T07:00:00+00:00")
# One a minute, in order, of two customers in turn; the payments come 5 minutes later, those of every third never.
ORDERS = [
    {"order_id": f"o{i}", "customer": "ab"[i % 2], "amount": i + 0.5, "placed_at": (START + timedelta(minutes=i)).isoformat()}
    for i in range(60)
]
PAYMENTS = [{"order_id": f"o{i}", "paid_at": (START + timedelta(minutes=i + 5)).isoformat()} for i in range(60) if i % 3]
BAD = ['{"order_id": "x"', '{"order_id": "x", "customer": "a", "amount": "much", "placed_at": "2025-09-04T07:30:00Z"}']


class Shop:
    """A project with pipelines of its own, and topics with a tag of their own."""

    def __init__(self, directory: Path, address: str, topics: KafkaAdmin, spark: str = "") -> None:
        """`spark`: its [spark] section, if not the usual."""
        directory.mkdir()
        self.project, self.kafka, self.tag = Project(directory), topics, uuid4().hex[:8]
        about = f'pipelines = ["streams.py"]\n[kafka]\nbootstrap_servers = "{address}"\n'
        if spark:
            (directory / "anabranch.toml").write_text(f"{about}{spark}", encoding="utf-8")
        else:
            self.project.configure(about)
        self.file = directory / "streams.py"
        self.text = (HERE / "own_streams.py").read_text(encoding="utf-8").replace('TAG"', f'{self.tag}"')
        self.file.write_text(self.text, encoding="utf-8")
        state = (HERE / "customer_state.py").read_text(encoding="utf-8")
        (directory / "customer_state.py").write_text(state, encoding="utf-8")
        for name, lines in (("orders", [*map(json.dumps, ORDERS), *BAD]), ("payments", map(json.dumps, PAYMENTS))):
            topics.create(f"{name}-{self.tag}", 1)
            topics.find(f"{name}-{self.tag}")
            self.project.ok("produce", f"{name}-{self.tag}", text="\n".join(lines))

    def run(self) -> None:
        self.project.ok("run", f"orders-{self.tag}-lake", *PIPELINES, "--until-caught-up", "--max-offsets", "20")

    def results(self, name: str) -> dict[str, dict[str, Any]]:
        """The latest of each key."""
        latest = latest_by_key(read_records(self.kafka, f"{name}-{self.tag}"))
        return {key: json.loads(record.value_text, parse_float=Decimal) for key, record in latest.items()}

    def large(self) -> list[str]:
        table = DeltaTable(str(self.project.directory / "out" / "large"))
        return sorted(row["order_id"] for row in query(table, 'SELECT "order_id" FROM held').to_pylist())

    def everything(self) -> dict[str, Any]:
        topics = {name: self.results(name) for name in ("revenue", "sliding", "paid", "customers")}
        return {**topics, "large": self.large()}
