"""What is said about pipelines and their sinks."""

from __future__ import annotations

from anabranch.errors import misuse

UNKNOWN_PIPELINE = misuse(
    "unknown-pipeline", "there is no pipeline {name!r}", "{suggestion}", "anabranch pipelines   lists them"
)
TARGET_AS_ARGUMENT = misuse(
    "target-as-argument", "there is no pipeline {name!r}", "to send results there, write: --to {kind}:{name}", "{suggestion}"
)
UNKNOWN_SINK = misuse("unknown-sink", "results cannot be sent to {to!r}", "{suggestion}")
SINK_NEEDS_TARGET = misuse("sink-needs-target", "--to {kind} needs a {target}", "--to {kind}:{target}")
SINK_TAKES_NO_TARGET = misuse(
    "sink-takes-no-target", "--to {kind} takes nothing behind it, {target!r} was given", "--to {kind}"
)
SINK_APPENDS_ONLY = misuse(
    "sink-appends-only",
    "{pipeline} emits more than one result for a key, and a {kind} can only be appended to",
    "--to topic:NAME   keeps the latest result of each key",
)
WINDOW_NOT_SETTABLE = misuse(
    "window-not-settable",
    "{pipeline} has no {what}, so none can be set: {setting}",
    "remove {setting} from the settings",
)
