"""What is said about operations in general."""

from __future__ import annotations

from anabranch.errors import misuse, note, refusal

UNKNOWN_OPERATION = misuse(
    "unknown-operation", "there is no operation {operation!r}", "{suggestion}", "anabranch operations   lists them"
)
NOT_AN_OPERATION = misuse(
    "not-an-operation",
    "{path} holds a plan, and its name is no id of an operation",
    "if it is a copy, keep it elsewhere; if it was renamed, name it as its plan.json does",
)
NOT_FINISHED = refusal(
    "operation-not-finished",
    "{what}: {operation} is not finished",
    "anabranch resume {operation}   finishes it",
    "anabranch undo {operation}   rolls it back",
)
JOURNAL_UNREADABLE = refusal(
    "journal-unreadable",
    "{what}: an operation is not finished, and its journal {journal} cannot be read: {reason}",
    "anabranch operations   names the one that is not finished: copy .anabranch/operations/ID/plan.json over the journal",
)
FENCE_WITHOUT_JOURNAL = refusal(
    "fence-without-journal",
    "{what}: {fence} is the fence of an operation, and there is no journal that names it",
    "anabranch operations   lists those that are not finished: resume or undo it",
    "if there is none, move that file aside",
)
PLAN_STALE = refusal(
    "plan-stale",
    "plan {operation} is stale, nothing was changed: files of the checkpoint came or went since it was made",
    "make sure that no query runs on it, and plan again",
)
ROLLED_BACK = refusal("rolled-back", "{operation} was rolled back: there is nothing to resume", "plan a new rewind")
ALREADY_DONE = refusal("already-done", "{operation} has finished", "anabranch undo {operation}   is an operation of its own")
NOTHING_TO_RESUME = refusal(
    "nothing-to-resume", "{operation} has finished: there is nothing to resume", "anabranch operations {operation}"
)

# A sentence of a plan or receipt that version 0.1.0 wrote.
RECORDED_TEXT = note("recorded-text", "{text}")
