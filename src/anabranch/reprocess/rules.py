"""Whether a lake's own columns say of each record what decoding it today would: its problem, and its event time.

They do where every batch of the lake ran with today's rules, and nobody else has written to it. Then a record need not be
decoded where nothing but its time is asked for. What is not known counts as no.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from anabranch.checkpoint.history import HistoryEntry, lines_newest_first, size_of
from anabranch.checkpoint.reader import read_logs
from anabranch.delta.lake import open_lake
from anabranch.delta.table import read_commit
from anabranch.pipeline.definition import Pipeline
from anabranch.project.lake import lake_path
from anabranch.project.project import Project
from anabranch.storage.files import Format
from anabranch.streaming.preflight import run_fingerprint


@dataclass(frozen=True)
class LakeRules:
    """By which rules a lake was written, up to a version: only what came since must be looked at again."""

    table_id: str
    query_id: str
    version: int
    # How much of the history was looked at; the newest batch in it.
    history_bytes: int
    batch: int
    # The fingerprint that all its batches have. None: there are several, or one is not known, or somebody else wrote to it.
    code: str | None


RULES = Format("lake-rules", 1, LakeRules)


def is_as_decoded_now(project: Project, pipeline: Pipeline, filling: Pipeline, version: int) -> bool:
    """`filling`: what fills the lake."""
    judged = replace(filling, future_tolerance_s=pipeline.future_tolerance_s, skip=pipeline.skip)
    return _code_of(project, filling, version) == run_fingerprint(judged, project.settings.timezone)


def _code_of(project: Project, filling: Pipeline, version: int) -> str | None:
    path, location = lake_path(filling), project.checkpoint(filling)
    file = project.home / f"lake-rules-{filling.name}.json"
    logs, table_id = read_logs(location.storage()), str(open_lake(path, version).metadata().id)
    query_id, committed = str(logs.query_id), logs.commits.newest
    known = RULES.read(file)
    if known is None or (known.table_id, known.query_id) != (table_id, query_id) or known.version > version:
        known = LakeRules(table_id, query_id, version=-1, history_bytes=0, batch=-1, code="")
    if committed is None or known.code is None:
        return None
    size = size_of(location)
    entries = [one for one in lines_newest_first(location, known.history_bytes) if one is not None][::-1]
    batch, code = followed(entries, known.batch, known.code)
    if any(not _is_of(str(path), one, query_id) for one in range(known.version + 1, version + 1)):
        code = None
    if code is not None and batch < committed:
        # A batch that has just ended has no line yet.
        return None
    RULES.write(file, LakeRules(table_id, query_id, version, size, batch, code))
    return code or None


def followed(entries: Iterable[HistoryEntry], batch: int, code: str) -> tuple[int, str | None]:
    """The newest batch, and the fingerprint of all up to it, by lines in the order in which they were written.

    `code`: of those before; empty: there are none. A batch may run again; one that has no line is not known.
    """
    found: str | None = code
    for one in entries:
        if one.ran is not None and (one.batch > batch + 1 or one.ran.code is None or found not in ("", one.ran.code)):
            found = None
        elif one.ran is not None and found == "":
            found = one.ran.code
        batch = one.batch
    return batch, found


def _is_of(path: str, version: int, query_id: str) -> bool:
    """Whether a version of the table is of the lake's own query, or changes nothing. One that is gone is not known."""
    commit = read_commit(path, version)
    return bool(commit.actions) and (commit.transaction(query_id) is not None or not commit.changes_table)
