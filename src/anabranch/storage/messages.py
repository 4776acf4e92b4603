"""What storage says."""

from __future__ import annotations

from anabranch.errors import failure, refusal

FORMAT_NEWER = refusal(
    "format-newer",
    "{path} was written by a newer Anabranch: {what}",
    "use the version that wrote it, or upgrade this one; nothing was changed",
)
FILE_DAMAGED = failure(
    "file-damaged",
    "{path} is damaged: {what}",
    "restore it from a backup, or move it aside if what it held no longer matters; it is never replaced by a guess",
)
NAME_NOT_UTF8 = refusal(
    "name-not-utf8",
    "a name cannot be written down, it is not UTF-8: {name}",
    "name the checkpoint by a link with a UTF-8 name: ln -s DIRECTORY LINK",
)
NO_EXCLUSIVE_CREATE = refusal(
    "no-exclusive-create",
    "{path} is on a file system that cannot create a file exclusively: two operations could begin on it at once",
    "mount it with support for hard links; a checkpoint cannot be moved, it names its own path",
)
MOVE_CONFLICT = failure(
    "move-conflict",
    "{source} cannot be moved to {target}: someone else changed {path}",
    "restore that file, then: anabranch resume {operation}",
    "or roll back what was moved: anabranch undo {operation}",
)
CHECKPOINT_GONE = failure("checkpoint-gone", "the checkpoint at {path} is gone", "restore it to where it was")
BUSY = refusal("checkpoint-busy", "another operation is working on {path}", "anabranch operations   shows when it is done")
LEASE_HELD = refusal(
    "lease-held", "{name} is in use: {holder}", "anabranch stop {name}   ends it after its batch", "anabranch status"
)
