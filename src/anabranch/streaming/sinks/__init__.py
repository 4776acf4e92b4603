"""Where results go: one file for each kind of sink, with its policies for writing, rewinding and stopping.

A new kind is a subclass of `Sink` in pipeline/definition.py, and a file here that ends with `register(...)`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from anabranch.operations.change import SinkChange
from anabranch.pipeline.definition import Sink
from anabranch.storage.messages import FORMAT_NEWER
from anabranch.streaming.sinks.base import POLICIES, SinkPolicy

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def policy_of(sink: Sink) -> SinkPolicy:
    return POLICIES[sink.kind]


def policy_for(change: SinkChange, plan: str) -> SinkPolicy | None:
    """Who carries out the sink's part of a plan; None: nothing is to be done. Refuses a kind that is not known here."""
    if change.action == "leave":
        return None
    if change.kind not in POLICIES:
        # Never taken for "leave": the operation would finish without its sink.
        raise FORMAT_NEWER(path=plan, what=f"a sink of kind {change.kind!r}")
    return POLICIES[change.kind]
