"""Changes of a checkpoint for tests: what happens at the sink, and how one is applied to a storage."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

from anabranch.operations.change import CheckpointChange, SinkChange
from anabranch.operations.fence import Application
from anabranch.storage.base import Storage
from anabranch.streaming import messages
from anabranch.streaming.sinks.base import leave

LEFT = leave("console", messages.CONSOLE_PRINTS_AGAIN())
_ABOUT = {"table": "/lake", "rows": 90, "newest": 8, "set_back_to": 2}
DELETED = SinkChange("table", "take back", messages.ROWS_DELETED(**_ABOUT), messages.ROWS_RESTORED(**_ABOUT), {})


def application(change: CheckpointChange, storage: Storage, change_sink: Callable[[SinkChange], None]) -> Application:
    return Application(change, json.dumps({"change": asdict(change)}), storage, change_sink)
