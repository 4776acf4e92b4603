"""The pipelines that there are, by name."""

from __future__ import annotations

from collections.abc import Sequence

from anabranch.pipeline import messages
from anabranch.pipeline.builtin.browsers_stateful import BROWSERS_STATEFUL
from anabranch.pipeline.builtin.browsers_stateless import BROWSERS_STATELESS
from anabranch.pipeline.builtin.visits_counter import VISITS_COUNTER
from anabranch.pipeline.builtin.visits_lake import VISITS_LAKE
from anabranch.pipeline.builtin.visits_log import VISITS_LOG
from anabranch.pipeline.builtin.visits_sessions import VISITS_SESSIONS
from anabranch.pipeline.builtin.visits_windows import VISITS_WINDOWS
from anabranch.pipeline.definition import Pipeline, Sink
from anabranch.text.suggest import did_you_mean

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


def find_pipeline(name: str) -> Pipeline:
    for pipeline in PIPELINES:
        if pipeline.name == name:
            return pipeline
    raise messages.UNKNOWN_PIPELINE(name=name, suggestion=_suggestion(name))


def find_pipelines(names: Sequence[str], to: str | None) -> list[Pipeline]:
    """Each once. `--to topic NAME`, with a blank, is how 0.1.0 named a target: NAME must not become a topic by mistake."""
    known = {pipeline.name for pipeline in PIPELINES}
    for name in names:
        if name not in known and to in Sink.kinds and Sink.kinds[to].target:
            raise messages.TARGET_AS_ARGUMENT(name=name, kind=to, suggestion=_suggestion(name))
    return [find_pipeline(name) for name in dict.fromkeys(names)]


def _suggestion(name: str) -> str:
    return did_you_mean(name, [pipeline.name for pipeline in PIPELINES])
