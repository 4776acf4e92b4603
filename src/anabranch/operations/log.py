"""The log of operations: one directory each, with the plan that was shown and the receipt.

The plan is written before the first effect; an operation without a receipt has not finished, and can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar, get_args
from uuid import uuid4

from anabranch.errors import AnabranchError
from anabranch.operations import messages
from anabranch.operations.receipt import Kind, Outcome, Receipt
from anabranch.storage.files import Format, names_in, parse, read_text
from anabranch.storage.messages import FORMAT_NEWER
from anabranch.text.suggest import nearest_of_many

P = TypeVar("P")
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
    # Why its files cannot be understood; then nothing but its id counts.
    problem: AnabranchError | None = None

    @property
    def state(self) -> str:
        if self.problem is not None:
            return "unreadable"
        return self.receipt.outcome if self.receipt else "not finished"

    @property
    def subject(self) -> str:
        return str(self.plan.get("pipeline") or self.plan.get("checkpoint") or "?")

    @property
    def begun_ms(self) -> int:
        """As its id says; of one that can be read."""
        at = begun(self.id)
        assert at is not None
        return round(at.timestamp() * 1000)

    def decode(self, plan_format: Format[P]) -> P:
        return plan_format.from_json(self.plan, self.plan_path)

    def checked(self, decode: Callable[[Operation], object]) -> Operation:
        """Unreadable where its capability cannot decode its plan."""
        try:
            if self.problem is None:
                decode(self)
        except AnabranchError as error:
            return replace(self, problem=error)
        return self

    def as_json(self) -> dict[str, Any]:
        receipt = RECEIPT.as_json(self.receipt) if self.receipt else None
        problem = self.problem.reason.as_json() if self.problem else None
        about = {"id": self.id, "kind": self.kind, "state": self.state}
        return {**about, "plan": dict(self.plan), "receipt": receipt, "problem": problem}


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
        """The newest first. One whose files cannot be understood is among them; what has no plan is no operation."""
        for name in sorted(names_in(self.directory), reverse=True):
            if (operation := self._read(name)) is not None:
                yield operation

    def find(self, operation_id: str) -> Operation:
        """Raises what is wrong with one that cannot be read."""
        names = names_in(self.directory)
        operation = self._read(operation_id) if operation_id in names else None
        if operation is None:
            suggestion = nearest_of_many(operation_id, [name for name in names if begun(name) is not None])
            raise messages.UNKNOWN_OPERATION(operation=operation_id, suggestion=suggestion)
        if operation.problem is not None:
            raise operation.problem
        return operation

    def _read(self, name: str) -> Operation | None:
        path = self._plan(name)
        try:
            text = read_text(path)
            if text is None:
                return None
            if begun(name) is None:
                raise messages.NOT_AN_OPERATION(path=str(path.parent))
            plan = parse(text, str(path))
            if plan.get("kind") not in get_args(Kind):
                raise FORMAT_NEWER(path=str(path), what=f"kind {plan.get('kind')!r}")
            return Operation(name, str(plan["kind"]), plan, str(path), RECEIPT.read(self._receipt(name)))
        except AnabranchError as error:
            return Operation(name, "?", {}, str(path), None, problem=error)

    def results_file(self, operation: str) -> Path:
        """Of a plan that sends results: all of them."""
        return self.directory / operation / "results.jsonl.gz"

    @contextmanager
    def prepared(self, operation: str) -> Iterator[Path]:
        """Where all results of a plan are written to. They are removed again where the plan is not carried out."""
        try:
            yield self.results_file(operation)
        finally:
            if not self._plan(operation).exists():
                self.results_file(operation).unlink(missing_ok=True)
                with suppress(OSError):
                    (self.directory / operation).rmdir()

    def _plan(self, operation: str) -> Path:
        return self.directory / operation / "plan.json"

    def _receipt(self, operation: str) -> Path:
        return self.directory / operation / "receipt.json"
