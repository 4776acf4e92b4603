"""The pipelines that there are."""

from __future__ import annotations

from anabranch.pipeline.builtin.browsers_stateful import BROWSERS_STATEFUL
from anabranch.pipeline.builtin.browsers_stateless import BROWSERS_STATELESS
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_lake import VISITS_LAKE
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS

PIPELINES = (
    VISITS_LOG,
    VISITS_WINDOWS,
    VISITS_LAKE,
    VISITS_COUNTER,
    VISITS_SESSIONS,
    BROWSERS_STATELESS,
    BROWSERS_STATEFUL,
)
# Every record of the topic, which windows are recomputed from.
LAKE = VISITS_LAKE
