"""The pipelines that a project has, known without importing their code: the seeds', or those of the manifest.

`run`, `check` and `reprocess` import a project's files and write the manifest (load.py). Beside each checkpoint is the
definition that ran on it: a pipeline that is not declared any more is known from there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from anabranch.errors import AnabranchError, Reason
from anabranch.pipeline.catalog import Catalog
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.manifest import Manifest, PipelineDefinition, catalog_from, changed_sources, manifest_of, pipeline_from
from anabranch.project import messages
from anabranch.storage.files import HOME, CheckpointLocation, Format


def _definition_from_1(fields: dict[str, Any]) -> dict[str, Any]:
    """Floats of results were compared nowhere."""
    return {"float_tolerance": 0.0, **fields}


def _manifest_from_1(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "pipelines": [_definition_from_1(one) for one in fields["pipelines"]]}


MANIFEST = Format("manifest", 2, Manifest, {1: _manifest_from_1})
DEFINITION = Format("definition", 2, PipelineDefinition, {1: _definition_from_1})
_FILE = "manifest.json"


@dataclass(frozen=True)
class KnownPipelines:
    catalog: Catalog
    # What declares them. Empty: they are those of the seeds.
    files: tuple[str, ...] = ()
    # None: they were never read, or have just been.
    manifest: Manifest | None = None

    @property
    def is_builtin(self) -> bool:
        return not self.files

    @property
    def names(self) -> Collection[str] | None:
        """None: not known yet."""
        return [pipeline.name for pipeline in self.catalog.pipelines] or None

    def check_read(self) -> None:
        """Refuses where the files that declare pipelines were never read."""
        if not self.catalog.pipelines:
            raise messages.PIPELINES_NOT_READ(files=list(self.files))

    @cached_property
    def notes(self) -> tuple[Reason, ...]:
        """How the files differ from what was read of them."""
        if self.manifest is None:
            return ()
        from anabranch.project.load import hash_of

        changed = changed_sources(self.manifest, ((file, hash_of(file)) for file in self.manifest.sources))
        gone = [file for file, is_there in changed if not is_there]
        other = [file for file, is_there in changed if is_there]
        return (
            *([messages.SOURCES_GONE(files=gone)] if gone else []),
            *([messages.SOURCES_CHANGED(files=other)] if other else []),
        )


def read_known(directory: Path, files: tuple[str, ...]) -> KnownPipelines:
    from anabranch.project.load import installed_entry_points

    named = (*files, *(point.module for point in installed_entry_points()))
    if not named:
        from anabranch.pipeline.builtin.catalog import BUILTIN

        return KnownPipelines(BUILTIN)
    manifest = MANIFEST.read(directory / HOME / _FILE)
    return KnownPipelines(catalog_from(manifest) if manifest else Catalog((), ()), named, manifest)


def write_manifest(home: Path, catalog: Catalog, sources: dict[str, str]) -> None:
    manifest = manifest_of(catalog, sources)
    if MANIFEST.read(home / _FILE) != manifest:
        MANIFEST.write(home / _FILE, manifest, indent=2)


def write_definition(location: CheckpointLocation, definition: PipelineDefinition) -> None:
    DEFINITION.write(location.definition, definition)


@dataclass(frozen=True)
class RetiredPipelines:
    """Those that have a checkpoint and are not declared any more, as they were when they ran."""

    pipelines: tuple[Pipeline, ...]
    # Why a definition cannot be read: one pipeline is not known then, the others are.
    unreadable: tuple[Reason, ...]


def read_retired(home: Path, catalog: Catalog) -> RetiredPipelines:
    declared = {pipeline.name for pipeline in catalog.pipelines}
    directory = home / "checkpoints"
    found: dict[str, Pipeline] = {}
    unreadable: list[Reason] = []
    for file in sorted(directory.glob("*/*.definition.json")):
        if file.parent.name in declared:
            continue
        try:
            definition = DEFINITION.read(file)
        except AnabranchError as error:
            unreadable.append(error.reason)
            continue
        if definition is not None:
            found.setdefault(definition.name, pipeline_from(definition))
    return RetiredPipelines(tuple(found.values()), tuple(unreadable))
