"""The log of operations: one directory each, with the plan that was shown and the receipt.

The plan is written before the first effect; an operation without a receipt has not finished, and can be resumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar
from uuid import uuid4

from anabranch.errors import AnabranchError
from anabranch.operations import messages
from anabranch.operations.receipt import Outcome, Receipt
from anabranch.storage.files import Format, parse, read_text
from anabranch.text.suggest import did_you_mean

P = TypeVar("P")
Kind = Literal["rewind", "undo", "reprocess"]
_BEGUN = "%Y%m%dT%H%M%S"


RECEIPT = Format("receipt", 1, Receipt)


@dataclass(frozen=True)
class Operation:
    id: str
    kind: str
    # As JSON: each capability decodes its own.
    plan: Mapping[str, Any]
    plan_path: str
    receipt: Receipt | None
    # Why its files cannot be understood; then nothing but its id is known.
    problem: str | None = None

    @property
    def state(self) -> str:
        if self.problem is not None:
            return self.problem
        return self.receipt.outcome if self.receipt else "not finished"

    @property
    def subject(self) -> str:
        return str(self.plan.get("pipeline") or self.plan.get("checkpoint") or "?")

    @property
    def begun_ms(self) -> int:
        """As its id says."""
        at = begun(self.id)
        assert at is not None
        return round(at.timestamp() * 1000)

    def decode(self, plan_format: Format[P]) -> P:
        return plan_format.from_json(self.plan, self.plan_path)

    def as_json(self) -> dict[str, Any]:
        receipt = RECEIPT.as_json(self.receipt) if self.receipt else None
        return {"id": self.id, "kind": self.kind, "state": self.state, "plan": dict(self.plan), "receipt": receipt}


def begun(operation_id: str) -> datetime | None:
    """None: it is no id of an operation."""
    try:
        return datetime.strptime(operation_id.partition("-")[0], _BEGUN).replace(tzinfo=UTC)
    except ValueError:
        return None


def new_operation_id(kind: Kind) -> str:
    """Sorts by time, and says what it is."""
    return f"{datetime.now(UTC):{_BEGUN}}-{kind}-{uuid4().hex[:4]}"


@dataclass(frozen=True)
class OperationLog:
    directory: Path

    def record_plan(self, operation: str, plan_format: Format[P], plan: P) -> None:
        plan_format.write(self._plan(operation), plan, indent=2)

    def record_receipt(self, operation: str, outcome: Outcome, **about: Any) -> None:
        moment = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
        RECEIPT.write(self._receipt(operation), Receipt(moment, outcome, **about), indent=2)

    def all(self) -> Iterator[Operation]:
        """The newest first."""
        for directory in sorted(self.directory.glob("*"), reverse=True):
            if (text := read_text(self._plan(directory.name))) is not None:
                yield self._operation(directory.name, text)

    def find(self, operation_id: str) -> Operation:
        known = list(self.all())
        for operation in known:
            if operation.id == operation_id:
                return operation
        suggestion = did_you_mean(operation_id, [operation.id for operation in known])
        raise messages.UNKNOWN_OPERATION(operation=operation_id, suggestion=suggestion)

    def _operation(self, name: str, text: str) -> Operation:
        path, receipt_path = self._plan(name), self._receipt(name)
        try:
            plan = parse(text, str(path))
            receipt = RECEIPT.read(receipt_path)
        except AnabranchError as error:
            return Operation(name, "?", {}, str(path), None, problem=error.text)
        return Operation(name, str(plan.get("kind")), plan, str(path), receipt)

    def _plan(self, operation: str) -> Path:
        return self.directory / operation / "plan.json"

    def _receipt(self, operation: str) -> Path:
        return self.directory / operation / "receipt.json"
