"""What is wrong with the state of a checkpoint: versions that do not load, versions that are newer than the log, operators that
nothing describes any more. findings.py says how much is read.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.checkpoint import messages
from anabranch.checkpoint.checkpoint import Checkpoint, Operator
from anabranch.checkpoint.finding import Finding
from anabranch.checkpoint.layout import StoreFiles
from anabranch.checkpoint.restartable import inside_path, missing_schemas
from anabranch.checkpoint.state import Trouble
from anabranch.errors import Message, Reason

_TROUBLES: dict[str, Message] = {
    "state-missing": messages.STATE_MISSING,
    "state-torn": messages.STATE_TORN,
    "sst-missing": messages.SST_MISSING,
    "no-base": messages.NO_BASE,
}


def state_findings(checkpoint: Checkpoint, wanted: list[int], *, is_whole: bool) -> Iterator[Finding]:
    for operator in checkpoint.operators:
        yield from _described(checkpoint, operator)
        yield from _partitions(checkpoint, operator)
        yield from _ahead(checkpoint, operator)
        for store in operator.stores:
            yield from _versions(checkpoint, store, wanted, is_whole)
    if not checkpoint.batches and any(store.versions for operator in checkpoint.operators for store in operator.stores):
        what, remedy = messages.STATE_WITHOUT_LOG(), messages.RESTORE_LOG_OR_STATE_ASIDE()
        yield Finding("state", messages.STATE_AHEAD(what=what, remedy=remedy))


def _described(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    path = checkpoint.operator_metadata_path(operator)
    if path is None:
        return
    metadata = checkpoint.operator_metadata(operator)
    if metadata is None:
        yield Finding(path, messages.OPERATOR_METADATA(operator=operator.id))
        return
    for schema in missing_schemas(checkpoint, metadata.schema_paths):
        yield Finding(schema, messages.SCHEMA_MISSING(path=path, operator=operator.id))
    outside = [schema for schema in metadata.schema_paths if inside_path(checkpoint, schema) is None]
    if outside:
        yield Finding(path, messages.COPIED(outside=outside[0]))


def _partitions(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    missing = checkpoint.missing_stores(operator)
    if missing and checkpoint.next_batch > 0:
        # One finding for all: a number that is garbage could make a hundred thousand of them.
        partition, name = missing[0]
        what: list[Reason] = [messages.PARTITION_MISSING(partition=partition, store=name, operator=operator.id)]
        if len(missing) > 1:
            what.append(messages.MORE_LIKE_IT(count=len(missing) - 1))
        directory = f"state/{operator.id}/{partition}" + ("" if name == "default" else f"/{name}")
        consequence = messages.NEXT_BATCH_FAILS(batch=checkpoint.next_batch)
        yield Finding(
            directory, messages.STATE_MISSING(what=what, consequence=consequence, remedy=messages.REWIND_OR_RESTORE())
        )


def _ahead(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    """Batch L writes version L+1: nothing above it can belong to this log."""
    if checkpoint.newest is None:
        return
    newest = checkpoint.newest
    for store in operator.stores:
        ahead = sorted(version for version in store.versions if version > newest + 1)
        if ahead:
            what = messages.VERSIONS_AHEAD(first=ahead[0], last=ahead[-1], newest=newest)
            aside = messages.STATE_ASIDE(version=newest + 1)
            yield Finding(store.path(store.versions[ahead[0]][0]), messages.STATE_AHEAD(what=what, remedy=aside))
    for batch in sorted(b for b in operator.metadata_log.sizes if b > newest):
        what = messages.OPERATOR_METADATA_AHEAD(batch=batch, newest=newest)
        yield Finding(operator.metadata_log.path(batch), messages.STATE_AHEAD(what=what, remedy=messages.MOVE_ASIDE()))


def _versions(checkpoint: Checkpoint, store: StoreFiles, wanted: list[int], is_whole: bool) -> Iterator[Finding]:
    needed = checkpoint.next_batch
    if needed > 0 and (trouble := checkpoint.state_trouble(store, needed)) is not None:
        yield _trouble(store, trouble, messages.NEXT_BATCH_FAILS(batch=needed), messages.REWIND_OR_RESTORE())
    # What the newest batch may have begun to write, and what is ahead, was judged already.
    held = (version for version in store.versions if version < needed)
    asked = held if is_whole else (batch for batch in wanted if batch < needed and batch in store.versions)
    for version in sorted(asked):
        trouble = checkpoint.state_trouble(store, version)
        if trouble is not None:
            yield _trouble(store, trouble, messages.REWIND_NEEDS_IT(batch=version), messages.REWIND_ELSEWHERE())


def _trouble(store: StoreFiles, trouble: Trouble, consequence: Reason, remedy: Reason) -> Finding:
    what = messages.IN_STORE(store=store.label, what=trouble.what)
    return Finding(trouble.file, _TROUBLES[trouble.code](what=what, consequence=consequence, remedy=remedy))
