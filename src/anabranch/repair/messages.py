"""What is said about repairs."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note, refusal

UNKNOWN_CLASS = misuse(
    "unknown-class",
    "a repair knows no class {name!r}",
    "use one or more of: late, missing, different",
)
AUDIT_OUTDATED = refusal(
    "audit-outdated",
    "what {audit} has found of {pipeline} no longer holds: {why}",
    "anabranch repair {pipeline}   audits it again",
)
LAKE_OF_THEN_GONE = note("lake-of-then-gone", "version {version} of the lake, by which it judged, has been cleaned up")
TABLE_NOT_REPAIRED = refusal(
    "table-not-repaired",
    "{pipeline} writes to the table {table}, to which a repair could only add rows: nothing was changed",
    "anabranch rewind {pipeline}   takes its batches back together with their rows",
)
FOUND_DAMAGED = failure(
    "found-damaged",
    "{path} no longer holds all that {audit} has found: it is damaged, nothing was planned",
    "anabranch audit {pipeline}   finds them again",
)
NOT_REPAIRED = note(
    "not-repaired", "{count:#wrong result} of class {name} {are} left alone: --only {name} repairs what is {name}"
)
NEVER_REPAIRED = note(
    "never-repaired",
    "{count:#result} of windows that the lake has no record of {are} left alone: a repair sends what the lake gives",
)
NOTHING_TO_REPLAY = note("nothing-to-replay", "No record of the lake of {topic} that had a problem is usable now")
REPLAYED = note("replayed", "{count:#record} that had a problem {are} usable now, in {windows:#closed window} of {pipeline}")
REPLAY_LATER = note(
    "replay-later", "{count:#record} more {are} in windows that are open: replay again once they are closed, after {closing}"
)
REPLAY_UNKNOWN = note(
    "replay-unknown",
    "{count:#record} more {are} in windows that closed before the oldest batch that is known, and are not audited:"
    " anabranch reprocess {pipeline} --from {start} --to {end} counts them",
)
