"""The history of operations: one directory each, with the plan that was shown, what happened, and the receipt.

The plan is written before the first effect; an operation without a receipt has not finished, and can be resumed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from anabranch.errors import Misused
from anabranch.project.project import Project
from anabranch.storage.files import read_json, write_whole
from anabranch.text.suggest import did_you_mean

_BEGUN = "%Y%m%dT%H%M%S"


@dataclass(frozen=True)
class Operation:
    id: str
    kind: str
    plan: dict[str, Any]
    receipt: dict[str, Any] | None

    @property
    def state(self) -> str:
        return str(self.receipt.get("outcome", "done")) if self.receipt else "not finished"

    @property
    def begun_ms(self) -> int:
        """As its id says."""
        begun = datetime.strptime(self.id.partition("-")[0], _BEGUN).replace(tzinfo=UTC)
        return round(begun.timestamp() * 1000)


def new_operation_id(kind: str) -> str:
    """Sorts by time, and says what it is."""
    return f"{datetime.now(UTC):{_BEGUN}}-{kind}-{uuid4().hex[:4]}"


def record_plan(project: Project, operation: str, kind: str, plan: dict[str, Any]) -> None:
    write_whole(_directory(project) / operation / "plan.json", json.dumps({"kind": kind, **plan}, indent=2))


def record_receipt(project: Project, operation: str, receipt: dict[str, Any]) -> None:
    moment = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    write_whole(_directory(project) / operation / "receipt.json", json.dumps({"at": moment, **receipt}, indent=2))


def operations(project: Project) -> Iterator[Operation]:
    """The newest first."""
    for directory in sorted(_directory(project).glob("*"), reverse=True):
        if (plan := read_json(directory / "plan.json")) is not None:
            yield Operation(directory.name, str(plan.get("kind")), plan, read_json(directory / "receipt.json"))


def find_operation(project: Project, operation_id: str) -> Operation:
    known = list(operations(project))
    for operation in known:
        if operation.id == operation_id:
            return operation
    raise Misused(
        f"there is no operation {operation_id!r}.",
        did_you_mean(operation_id, [operation.id for operation in known]),
        "anabranch operations lists them",
    )


def _directory(project: Project) -> Path:
    return project.home / "operations"
