"""A lease is held by its process, not by files that someone may delete."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from anabranch.errors import Failed, Refused
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import Lease, alone_on, holder_of, take_lease

# Takes the lease, says so, and holds it until its input ends.
HOLDS = """
import sys
from pathlib import Path
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import take_lease
lease = take_lease(CheckpointLocation(Path(sys.argv[1])), "visits-log", "run")
print("held", flush=True)
sys.stdin.read()
lease.release()
"""

WAITS = """
import sys
from pathlib import Path
from anabranch.storage.files import CheckpointLocation
from anabranch.storage.lease import await_free, holder_of
location = CheckpointLocation(Path(sys.argv[1]))
assert holder_of(location) is not None
print("waits", flush=True)
await_free(location)
assert holder_of(location) is None
print("free", flush=True)
"""


@pytest.fixture
def location(tmp_path: Path) -> CheckpointLocation:
    return CheckpointLocation(tmp_path / "checkpoints" / "visits-log" / "console")


@pytest.fixture
def other(location: CheckpointLocation) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lease."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(location)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    if process.poll() is None:
        process.communicate()


def _take(location: CheckpointLocation) -> Lease:
    return take_lease(location, "visits-log", "run")


def _delete_beside(location: CheckpointLocation) -> None:
    for path in location.path.parent.glob(f"{location.path.name}.*"):
        path.unlink()


def test_a_lease_whose_file_was_deleted_is_held_all_the_same(
    location: CheckpointLocation, other: subprocess.Popen[str]
) -> None:
    _delete_beside(location)
    with pytest.raises(Refused) as refused:
        _take(location)
    assert refused.value.code == "lease-held"
    # Linux tells whose lock it is.
    assert f"process {other.pid} " in refused.value.text
    holder = holder_of(location)
    assert holder is not None
    assert holder.driver.pid == other.pid


def test_a_lease_whose_lock_is_free_is_held_while_the_process_that_its_file_names_lives(
    location: CheckpointLocation, other: subprocess.Popen[str]
) -> None:
    """As of a process of 0.2.0, which locks another file."""
    mark = location.lease.read_text(encoding="utf-8")
    location.path.rmdir()
    assert location.lease.read_text(encoding="utf-8") == mark
    with pytest.raises(Refused) as refused:
        _take(location)
    assert f"process {other.pid} " in refused.value.text


def test_a_holder_writes_its_file_again_and_fails_where_its_checkpoint_is_another_one(location: CheckpointLocation) -> None:
    lease = _take(location)
    (location.path / "metadata").write_text("{}", encoding="utf-8")
    before = location.lease.read_bytes()
    _delete_beside(location)
    lease.renew()
    assert location.lease.read_bytes() == before
    location.path.rename(location.path.with_name("moved"))
    location.path.mkdir()
    with pytest.raises(Failed) as failed:
        lease.renew()
    assert failed.value.code == "checkpoint-gone"
    # What lies beside another's checkpoint is not taken away.
    lease.release()
    assert location.lease.read_bytes() == before


def test_a_lease_that_led_to_nothing_leaves_nothing(location: CheckpointLocation) -> None:
    lease = _take(location)
    lease.release()
    lease.release()
    assert list(location.path.parent.iterdir()) == []
    location.path.mkdir()
    with alone_on(location):
        pass
    assert location.path.is_dir()


def test_who_waits_for_a_lease_is_woken_when_it_is_free(location: CheckpointLocation, other: subprocess.Popen[str]) -> None:
    waits = subprocess.Popen([sys.executable, "-c", WAITS, str(location)], stdout=subprocess.PIPE, text=True)
    assert waits.stdout is not None
    assert waits.stdout.readline() == "waits\n"
    other.communicate()
    assert waits.communicate(timeout=60)[0] == "free\n"
    assert holder_of(location) is None


def test_many_that_take_and_release_it_at_once_never_hold_it_together(location: CheckpointLocation) -> None:
    code = (
        "import sys; from pathlib import Path\n"
        "from anabranch.errors import Refused\n"
        "from anabranch.storage.files import CheckpointLocation\n"
        "from anabranch.storage.lease import take_lease\n"
        "location, alone, taken = CheckpointLocation(Path(sys.argv[1])), Path(sys.argv[2]), 0\n"
        "while taken < 50:\n"
        "    try: lease = take_lease(location, 'visits-log', 'run')\n"
        "    except Refused: continue\n"
        "    alone.mkdir(); alone.rmdir(); taken += 1; lease.release()\n"
    )
    alone = location.path.parent.parent.parent / "alone"
    started = [subprocess.Popen([sys.executable, "-c", code, str(location), str(alone)]) for _ in range(3)]
    assert [process.wait(120) for process in started] == [0, 0, 0]


def test_a_checkpoint_that_is_a_file_is_named(location: CheckpointLocation) -> None:
    location.path.parent.mkdir(parents=True)
    location.path.write_text("", encoding="utf-8")
    with pytest.raises(Failed) as failed:
        _take(location)
    assert (failed.value.code, failed.value.reason.params["path"]) == ("file-damaged", str(location))


def test_where_directories_cannot_be_locked_a_file_is(location: CheckpointLocation, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS, of which there is none here."""
    flock = fcntl.flock

    def of_files_only(handle: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EBADF, "bad file descriptor")
        flock(handle, operation)

    monkeypatch.setattr(fcntl, "flock", of_files_only)
    lease = _take(location)
    assert location.lease_lock.exists()
    with pytest.raises(Refused):
        _take(location)
    lease.renew()
    lease.release()
    _take(location).release()
