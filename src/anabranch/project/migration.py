"""Rewrites, once, what version 0.1.0 kept in a project: its files had no format number.

The originals are moved aside, and each new file is written before its original goes: a crash leaves work to do, never a hole.
An open journal in a checkpoint stays as it is: the fence needs only the operation's id, which is read in both formats.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anabranch
from anabranch.checkpoint.baseline_file import BASELINE
from anabranch.checkpoint.history import BatchRecord, append_batch, append_rewind, append_undo, record_from_1
from anabranch.errors import AnabranchError, Reason
from anabranch.kafka.embedded.broker import BROKER
from anabranch.pipeline.builtin.catalog import BUILTIN
from anabranch.project import messages, old_plans
from anabranch.project.project import PROJECT, Project, ProjectMark
from anabranch.storage.files import CheckpointLocation, Format, make_directory, read_text, write_whole
from anabranch.storage.lease import LEASE

ASIDE = "from-0.1.0"


def migrate(project: Project) -> Reason | None:
    """None: there was nothing to migrate."""
    locations = [location for pipeline in BUILTIN.pipelines for location in project.checkpoints(pipeline)]
    for location in locations:
        _check_lease(location)
    moved = [*_checkpoint_files(project, locations), *_operation_files(project), *_broker_file(project)]
    try:
        PROJECT.write(project.mark, ProjectMark(anabranch.__version__))
    except PermissionError:
        # Nothing can be written here: then nothing is ever migrated either, and looking is allowed.
        return None
    return messages.MIGRATED(files=len(moved), aside=str(project.home / ASIDE)) if moved else None


def _check_lease(location: CheckpointLocation) -> None:
    found = _object(location.lease)
    if found is None or "format" in found:
        return
    marks = {name: mark and {**mark, "birth": None} for name, mark in found.items() if name in ("driver", "jvm")}
    holder = LEASE.from_json({**LEASE.head, **found, **marks}, str(location.lease))
    if holder.is_alive():
        raise messages.MIGRATION_BLOCKED(name=location.path.parent.name, holder=holder.describe())


def _checkpoint_files(project: Project, locations: list[CheckpointLocation]) -> Iterator[Path]:
    for location in locations:
        facts, batches = location.beside("facts.json"), location.beside("batches.jsonl")
        if (found := _object(facts)) is not None:
            baseline = BASELINE.from_json({**BASELINE.head, "format": 1, "codes": {}, **found}, str(facts))
            BASELINE.write(location.baseline, baseline)
            yield _set_aside(project, facts)
        if batches.exists():
            _rewrite_history(location, batches)
            yield _set_aside(project, batches)
        if (found := _object(location.lease)) is not None and "format" not in found:
            yield _set_aside(project, location.lease)


def _rewrite_history(location: CheckpointLocation, batches: Path) -> None:
    # Of a migration that was cut off: written again from the beginning.
    location.history.unlink(missing_ok=True)
    for number, line in enumerate((read_text(batches) or "").splitlines()):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        match entry:
            case {"rewind": str(operation), "to": int(batch)}:
                append_rewind(location, operation, batch)
            case {"undo": str(rewind)}:
                append_undo(location, f"undo-{number}-of-0.1.0", rewind)
            case {"batch": int()}:
                append_batch(location, BatchRecord(**record_from_1(entry)))


def _operation_files(project: Project) -> Iterator[Path]:
    for directory in sorted(project.operations.directory.glob("*")):
        for name, rewritten in (("plan.json", old_plans.plan), ("receipt.json", old_plans.receipt)):
            path = directory / name
            found = _object(path)
            if found is None or "format" in found:
                continue
            try:
                content = rewritten(found)
            except (KeyError, TypeError, ValueError):
                # As for the broker's file below.
                continue
            yield _rewrite(project, path, content)


def _broker_file(project: Project) -> Iterator[Path]:
    path = project.broker_dir / "broker.json"
    found = _object(path)
    if found is None or "format" in found or not isinstance(found.get("mark"), dict):
        return
    content = {**BROKER.head, **found, "mark": {**found["mark"], "birth": None}}
    if _is_valid(BROKER, content, path):
        yield _rewrite(project, path, content)


def _is_valid(kind: Format[Any], content: dict[str, Any], path: Path) -> bool:
    """A file that 0.1.0 did not write so is left as it is: its reader says that it is damaged."""
    try:
        kind.from_json(content, str(path))
    except AnabranchError:
        return False
    return True


def _rewrite(project: Project, path: Path, content: dict[str, Any]) -> Path:
    """In its place; the original is copied aside first."""
    copy = _aside(project, path)
    make_directory(copy.parent)
    shutil.copy2(path, copy)
    write_whole(path, json.dumps(content, indent=2))
    return copy


def _set_aside(project: Project, path: Path) -> Path:
    target = _aside(project, path)
    make_directory(target.parent)
    shutil.move(path, target)
    return target


def _aside(project: Project, path: Path) -> Path:
    """Under the same path as in the project; a checkpoint may be kept elsewhere."""
    inside = path.relative_to(project.home) if path.is_relative_to(project.home) else Path(*path.parts[1:])
    return project.home / ASIDE / inside


def _object(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(read_text(path) or "null")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
