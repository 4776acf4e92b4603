"""What is kept of topics and pipelines on disk, so that commands know them without importing the code. Pure.

The manifest holds all of a project's, as its files were last read; beside each checkpoint is the definition that ran on it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from anabranch.pipeline.catalog import Catalog
from anabranch.pipeline.definition import OutputMode, Pipeline
from anabranch.pipeline.schema import parse_schema
from anabranch.pipeline.sinks import Sink, Table
from anabranch.pipeline.topic import Place, Topic


@dataclass(frozen=True)
class TopicDefinition:
    name: str
    # As DDL.
    schema: str
    event_time: str
    lake: str | None
    aliases: tuple[tuple[str, str], ...]
    integers_as_text: tuple[str, ...]
    place: Place | None


@dataclass(frozen=True)
class PipelineDefinition:
    """The fields of a Pipeline without its code; topics and sink in words."""

    name: str
    summary: str
    topics: tuple[TopicDefinition, ...]
    # As `--to` names it.
    sink: str
    partition_by: tuple[str, ...]
    result_topic: str
    output_mode: OutputMode
    trigger_s: float | None
    max_offsets: int | None
    future_tolerance_s: float | None
    skip: tuple[str, ...]
    window_s: float | None
    slide_s: float | None
    watermark_s: float | None
    watermark_jump_s: float | None
    grouping: tuple[str, ...]
    per_batch: bool
    takes_problems: bool
    float_tolerance: float
    is_recomputable: bool
    place: Place | None
    source_hash: str | None


@dataclass(frozen=True)
class Manifest:
    # Each file that pipelines were read from -> the hash of what it held then.
    sources: Mapping[str, str]
    topics: tuple[TopicDefinition, ...]
    pipelines: tuple[PipelineDefinition, ...]


_SHARED = [one.name for one in fields(PipelineDefinition) if one.name not in ("topics", "sink", "partition_by")]


def manifest_of(catalog: Catalog, sources: Mapping[str, str]) -> Manifest:
    topics = tuple(map(_topic_definition, catalog.topics))
    return Manifest(sources, topics, tuple(map(definition_of, catalog.pipelines)))


def catalog_from(manifest: Manifest) -> Catalog:
    """Without code."""
    return Catalog(tuple(map(_topic, manifest.topics)), tuple(map(pipeline_from, manifest.pipelines)))


def definition_of(pipeline: Pipeline) -> PipelineDefinition:
    shared: dict[str, Any] = {name: getattr(pipeline, name) for name in _SHARED}
    return PipelineDefinition(
        **shared,
        topics=tuple(map(_topic_definition, pipeline.topics)),
        sink=pipeline.sink.describe(),
        partition_by=pipeline.sink.partition_by if isinstance(pipeline.sink, Table) else (),
    )


def pipeline_from(definition: PipelineDefinition) -> Pipeline:
    shared: dict[str, Any] = {name: getattr(definition, name) for name in _SHARED}
    pipeline = Pipeline(**shared, topics=tuple(map(_topic, definition.topics)), sink=Sink())
    sink = pipeline.sent_to(definition.sink) or Sink()
    return replace(pipeline, sink=replace(sink, partition_by=definition.partition_by) if isinstance(sink, Table) else sink)


def _topic_definition(topic: Topic) -> TopicDefinition:
    return TopicDefinition(**{**vars(topic), "schema": topic.schema.ddl()})


def _topic(definition: TopicDefinition) -> Topic:
    plain = {name: value for name, value in vars(definition).items() if name != "schema"}
    return Topic(**plain, schema=parse_schema(definition.schema))


def changed_sources(manifest: Manifest, now: Iterable[tuple[str, str | None]]) -> list[tuple[str, bool]]:
    """The files that are not as they were read, and whether they are still there. `now`: each file, and its hash or None."""
    return [(file, found is not None) for file, found in now if found != manifest.sources.get(file)]
