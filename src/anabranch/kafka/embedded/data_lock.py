"""Who runs on the broker's data: Kafka locks a file there for as long as it runs, whatever broker.json says.

The lock is only looked at. To take it for a moment would end a Kafka that starts in that moment.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path

import psutil

from anabranch.kafka.messages import BROKER_HIDDEN

# struct flock: its fields, and the place of the process id among them.
_LAYOUT, _PID = ("qqihh", 2) if sys.platform == "darwin" else ("hhqqi", 4)
_QUESTION = (0, 0, 0, fcntl.F_WRLCK, os.SEEK_SET) if sys.platform == "darwin" else (fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
_TYPE = 3 if sys.platform == "darwin" else 0


def running_on(data_dir: Path) -> int | None:
    """The process of the Kafka that runs on this data; None: none does. Raises where it runs and cannot be seen from here."""
    lock = data_dir / ".lock"
    try:
        with lock.open("rb+") as file:
            answer = struct.unpack(_LAYOUT, fcntl.fcntl(file, fcntl.F_GETLK, struct.pack(_LAYOUT, *_QUESTION)))
    except FileNotFoundError:
        return None
    if answer[_TYPE] == fcntl.F_UNLCK:
        return None
    pid = int(answer[_PID])
    if not _is_kafka(pid):
        raise BROKER_HIDDEN(lock=str(lock))
    return pid


def _is_kafka(pid: int) -> bool:
    """Of another host or container the system tells a number that means nothing here."""
    try:
        return pid > 0 and "kafka.Kafka" in psutil.Process(pid).cmdline()
    except psutil.NoSuchProcess:
        return False
