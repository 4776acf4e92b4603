"""What is wrong with the state of a checkpoint: versions that do not load, versions of another time, operators that nobody
can describe any more. Part of findings.py, which says how much is looked at.
"""

from __future__ import annotations

from collections.abc import Iterator

from anabranch.checkpoint.checkpoint import Checkpoint, Operator
from anabranch.checkpoint.files import StoreFiles
from anabranch.checkpoint.finding import Finding
from anabranch.checkpoint.restartable import inside_path, missing_schemas

_REWIND = "rewind to a batch that is possible (--all shows which), or bring the file back from a backup"


def state_findings(checkpoint: Checkpoint, looked_at: list[int], *, is_whole: bool) -> Iterator[Finding]:
    for operator in checkpoint.operators:
        yield from _described(checkpoint, operator)
        yield from _partitions(checkpoint, operator)
        yield from _ahead(checkpoint, operator)
        for store in operator.stores:
            yield from _versions(checkpoint, store, looked_at, is_whole)
    if not checkpoint.batches and any(store.versions for operator in checkpoint.operators for store in operator.stores):
        what = "there is state and no batch is planned: a new query would begin here, and fail or build on it"
        yield Finding("state-ahead", "state", what, "bring offsets and commits back, or move state/ aside to begin anew")


def _described(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    path = checkpoint.operator_metadata_path(operator)
    if path is None:
        return
    metadata = checkpoint.operator_metadata(operator)
    if metadata is None:
        what = f"it does not say what operator {operator.id} is: empty, cut off or no such entry. A start reads it and fails"
        yield Finding("operator-metadata", path, what, "bring it back from a backup, with its .crc")
        return
    for schema in missing_schemas(checkpoint, metadata.schema_paths):
        what = f"{path} names it as the schema of operator {operator.id}, and it is gone. A start fails"
        yield Finding("schema-missing", schema, what, "bring it back from a backup")
    outside = [schema for schema in metadata.schema_paths if inside_path(checkpoint, schema) is None]
    if outside:
        what = f"it names {outside[0]}, outside this checkpoint: this is a copy, or was moved. Spark reads the original's files"
        yield Finding("copied", path, what, "work on the original in its place; a copy starts only as long as that is there")


def _partitions(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    missing = checkpoint.missing_stores(operator)
    if missing and checkpoint.next_batch > 0:
        # One finding for all: a number that is garbage could make a hundred thousand of them.
        partition, name = missing[0]
        directory = f"state/{operator.id}/{partition}" + ("" if name == "default" else f"/{name}")
        more = f", and {len(missing) - 1:,} more like it" if len(missing) > 1 else ""
        what = f"this partition of the state is gone{more}. The next batch fails on it"
        yield Finding("state-missing", directory, what, _REWIND)


def _ahead(checkpoint: Checkpoint, operator: Operator) -> Iterator[Finding]:
    """Batch L writes version L+1: nothing above it can be of this log."""
    if checkpoint.newest is None:
        return
    newest = checkpoint.newest
    for store in operator.stores:
        ahead = sorted(version for version in store.versions if version > newest + 1)
        if ahead:
            which = f"version {ahead[0]}" if len(ahead) == 1 else f"versions {ahead[0]} to {ahead[-1]}"
            what = f"{which} of a log that ends at batch {newest}: Spark may take them as a base later, and counts are wrong"
            remedy = f"move all state above version {newest + 1} aside, in every partition and store, with its .crc"
            yield Finding("state-ahead", store.path(store.versions[ahead[0]][0]), what, remedy)
    for batch in sorted(b for b in operator.metadata_log.sizes if b > newest):
        what = f"operator metadata of batch {batch}, the log ends at {newest}: Spark fails when it comes to write it"
        yield Finding("state-ahead", operator.metadata_log.path(batch), what, "move it aside, with its .crc")


def _versions(checkpoint: Checkpoint, store: StoreFiles, looked_at: list[int], is_whole: bool) -> Iterator[Finding]:
    needed = checkpoint.next_batch
    if needed > 0 and (trouble := checkpoint.state_trouble(store, needed)) is not None:
        what = f"{store.label}: {trouble.what}. Batch {needed} needs version {needed} and fails"
        yield Finding(trouble.code, trouble.file, what, _REWIND)
    # What the newest batch may have begun to write, and what is ahead, was judged already.
    held = (version for version in store.versions if version < needed)
    asked = held if is_whole else (batch for batch in looked_at if batch < needed and batch in store.versions)
    for version in sorted(asked):
        trouble = checkpoint.state_trouble(store, version)
        if trouble is not None:
            what = f"{store.label}: {trouble.what}. A start does not need it, a rewind to batch {version} would"
            yield Finding(trouble.code, trouble.file, what, "rewind to other batches only")
