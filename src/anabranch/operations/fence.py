"""The fence of an unfinished operation. Until it is resumed or rolled back, nothing may use the checkpoint behind it."""

from __future__ import annotations

from anabranch.checkpoint.logs import FENCE
from anabranch.checkpoint.reader import read_logs
from anabranch.errors import AnabranchError, Refused
from anabranch.operations import messages
from anabranch.operations.change import JOURNAL
from anabranch.storage.base import Storage
from anabranch.storage.files import parse

_MOST_JOURNAL_BYTES = 1 << 30
# A fence is one short line; a log entry may be large, and is none.
_FENCE_BYTES = 64 << 10

FENCE_CONTENT = f"{FENCE}\n".encode()


def under_way(storage: Storage, what: str) -> str | None:
    """The id of the operation whose journal is open. Refuses, with what cannot be done now, if the journal does not say."""
    content = storage.read(JOURNAL, _MOST_JOURNAL_BYTES)
    if content is None:
        return None
    journal = f"{storage.path}/{JOURNAL}"
    try:
        found = parse(content.decode("utf-8", errors="replace"), journal)
    except AnabranchError as error:
        raise _unreadable(what, journal, error.text) from None
    # Whatever its format: the id stands where every version has put it.
    change = found.get("change", found.get("shift"))
    if not isinstance(change, dict) or not isinstance(change.get("operation"), str):
        raise _unreadable(what, journal, "it names no operation")
    return str(change["operation"])


def _unreadable(what: str, journal: str, reason: str) -> Refused:
    return messages.JOURNAL_UNREADABLE(what=what, journal=journal, reason=reason)


def is_fence(storage: Storage, path: str) -> bool:
    content = storage.read(path, _FENCE_BYTES)
    return content is not None and content.startswith(FENCE.encode())


def fenced_by(storage: Storage, what: str) -> str | None:
    """The operation whose fence stands there: what the checkpoint holds is neither the old state nor the new one."""
    fence = read_logs(storage).fence
    if fence is None:
        return None
    operation = under_way(storage, what)
    if operation is None:
        raise messages.FENCE_WITHOUT_JOURNAL(what=what, fence=f"{storage.path}/{fence}")
    return operation


def check_not_fenced(storage: Storage, what: str) -> None:
    if (operation := fenced_by(storage, what)) is not None:
        raise not_finished(operation, what)


def not_finished(operation: str, what: str) -> Refused:
    return messages.NOT_FINISHED(what=what, operation=operation)
