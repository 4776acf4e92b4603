"""Where tasks run: in the driver's own JVM (`local*`), or on the executors of a cluster; and whether its master is there."""

from __future__ import annotations

import re
import socket

from anabranch.spark.messages import MASTER_UNREACHABLE

# A master on the same network accepts in milliseconds; Spark itself would try for a minute, without a word.
_ACCEPT_TIMEOUT_S = 5.0
_STANDALONE = "spark://"


def is_local(master: str) -> bool:
    """`local-cluster[...]` has executors of its own: they need what those of a cluster need."""
    return re.fullmatch(r"local(\[.*\])?", master) is not None


def is_standalone(master: str) -> bool:
    return master.startswith(_STANDALONE)


def check_reachable(master: str) -> None:
    """Of a standalone cluster, whose address names its masters: one that accepts a connection is enough."""
    if not is_standalone(master):
        return
    reasons = []
    for address in master.removeprefix(_STANDALONE).split(","):
        host, _, port = address.rpartition(":")
        if not port.isdecimal():
            # Spark says what is wrong with it.
            return
        try:
            with socket.create_connection((host.strip("[]"), int(port)), _ACCEPT_TIMEOUT_S):
                return
        except (OSError, OverflowError) as error:
            reasons.append(f"{address}: {getattr(error, 'strerror', None) or error}")
    raise MASTER_UNREACHABLE(master=master, why=reasons)
