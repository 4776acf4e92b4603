"""How one terminal stops a run in another: a file beside the checkpoint, which the run looks for."""

from __future__ import annotations

from collections.abc import Iterable

from anabranch.storage.files import CheckpointLocation, remove, write_whole
from anabranch.storage.lease import await_free, holder_of


def ask_to_stop(locations: Iterable[CheckpointLocation]) -> list[CheckpointLocation]:
    """Those that run are asked to end after their batch; `await_stopped` waits for one."""
    held = [location for location in locations if holder_of(location) is not None]
    for location in held:
        write_whole(location.stop_request, "")
    return held


def await_stopped(location: CheckpointLocation) -> None:
    await_free(location)


def is_stop_asked(location: CheckpointLocation) -> bool:
    return location.stop_request.exists()


def withdraw_stop(location: CheckpointLocation) -> None:
    remove(location.stop_request)
