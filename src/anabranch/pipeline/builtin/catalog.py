"""The pipelines of the seeds, which a project without its own has."""

from __future__ import annotations

from anabranch.pipeline.builtin.browsers_stateful import BROWSERS_STATEFUL
from anabranch.pipeline.builtin.browsers_stateless import BROWSERS_STATELESS
from anabranch.pipeline.builtin.visits import VISITS
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.catalog import catalog_of

BUILTIN = catalog_of(
    [VISITS], [VISITS_LOG, VISITS_WINDOWS, VISITS_COUNTER, VISITS_SESSIONS, BROWSERS_STATELESS, BROWSERS_STATEFUL]
)
VISITS_LAKE = BUILTIN.lake_of("visits")
