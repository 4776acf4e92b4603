"""What is said about Delta tables."""

from __future__ import annotations

from anabranch.errors import failure, note, refusal

NO_LAKE = failure("no-lake", "there is no lake at {path} yet", "{ways}")
TABLE_UNREADABLE = failure("table-unreadable", "the table at {path} cannot be read: {reason}", "{remedies}")
TABLE_GONE = failure("table-gone", "the table at {path} is gone", "restore it to where it was")
TABLE_BUSY = failure(
    "table-busy",
    "other writers change the table at {path} all the time: none of {attempts} attempts to commit succeeded",
    "let them end, then run the same command again; anabranch operations names what is not finished",
)
ROWS_VACUUMED = failure(
    "rows-vacuumed",
    "the rows that {operation} deleted from {path} cannot be restored: a vacuum has removed their files",
    "run the query again instead, it reads the records from Kafka",
)

TABLE_CHANGED_SINCE = refusal(
    "table-changed-since",
    "the table at {path} was changed in version {version}, since this was planned: that change would be lost",
    "plan it again: run the same command once more",
)

RESTORE_TABLE = note("restore-table", "restore what is missing or damaged there, from a backup")
TABLE_ASIDE = note(
    "table-aside",
    "without a backup: move {path} aside, and its query's checkpoint with it; the next run reads what Kafka still retains",
)
LOG_EXPIRED = note("log-expired", "its log no longer has version {version}, which would tell what the batches wrote")
VERSION_OF_OTHER = note(
    "version-of-other",
    "its rows do not tell which records they are from, and version {version} ({operation}) is not of this query",
)
VERSION_VACUUMED = note("version-vacuumed", "a vacuum has removed {files:#file} of version {version}, which would be restored")
NOT_DELETABLE = note("not-deletable", "{setting} is set on it, so no row can be deleted from here")
OTHER_WRITER = note("other-writer", "it holds {rows:,} rows for {records:,} records: another writer wrote some of them too")
