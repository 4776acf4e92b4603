"""The state of a checkpoint at a batch, as rows for people: one for each key, and of visits-sessions one for each visit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.errors import Failed, Refused
from anabranch.pipeline.builtin import session_fold as sessions
from anabranch.pipeline.definition import VISITS_SESSIONS
from anabranch.project.checkpoints import CheckpointRef
from anabranch.spark.session import Session
from anabranch.streaming.failures import summary_of
from anabranch.text.instants import iso_utc


def check_batch_has_state(checkpoint: Checkpoint, batch: int | None) -> int:
    """The batch after which the state is read: the newest that is committed, unless another is asked for."""
    if not checkpoint.operators:
        raise Refused("this query keeps no state.")
    newest = checkpoint.commits.newest
    if newest is None:
        raise Refused("no batch is committed yet: there is no state to read.")
    wanted = newest if batch is None else batch
    for operator in checkpoint.operators:
        for store in operator.stores:
            if (trouble := checkpoint.state_trouble(store, wanted + 1)) is not None:
                raise Refused(f"the state after batch {wanted} cannot be read: {store.label}: {trouble.what}.")
    return wanted


def state_rows(session: Session, ref: CheckpointRef, batch: int, log_file: str) -> Iterator[dict[str, Any]]:
    from anabranch.checkpoint.state_reader import read_state

    is_sessions = ref.pipeline is not None and ref.pipeline.name == VISITS_SESSIONS.name
    try:
        for entry in read_state(session.spark, str(ref.path), batch):
            if is_sessions:
                yield from _visits(entry.value["visits"])
            else:
                yield asdict(entry)
    except Exception as error:
        raise Failed(f"Spark cannot read this state: {summary_of(str(error))}", f"the whole story: {log_file}") from None


def _visits(bucket: str) -> Iterator[dict[str, Any]]:
    for visit_id, visit in sessions.from_text(bucket).items():
        yield {"visit_id": visit_id, "visited_pages": visit.pages, "ends_at": iso_utc(visit.timer_ms)}
