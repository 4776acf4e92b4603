"""The topics and pipelines that a project has: its own, or those of the seeds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from anabranch.pipeline import messages
from anabranch.pipeline.definition import Pipeline, find_pipeline
from anabranch.pipeline.lake import lake_pipeline
from anabranch.pipeline.topic import Place, Topic
from anabranch.text.suggest import did_you_mean


@dataclass(frozen=True)
class Catalog:
    topics: tuple[Topic, ...]
    # Those that fill a lake first.
    pipelines: tuple[Pipeline, ...]

    def lakes(self) -> tuple[Pipeline, ...]:
        return tuple(pipeline for pipeline in self.pipelines if pipeline.takes_problems)

    def lake_for(self, pipeline: Pipeline) -> Pipeline | None:
        """What fills the lake of the topic that a pipeline reads as declared; None: the topic has none."""
        declared = find_pipeline(self.pipelines, pipeline.name)
        return next((lake for lake in self.lakes() if lake.topic.name == declared.topic.name), None)

    def lake_of(self, topic: str | None) -> Pipeline:
        """The one that a command means: by its topic, or the only one."""
        lakes = self.lakes()
        names = [lake.topic.name for lake in lakes]
        if topic is None:
            if len(lakes) != 1:
                raise messages.WHICH_LAKE(topics=names) if lakes else messages.NO_TOPIC_HAS_LAKE()
            return lakes[0]
        if topic not in names:
            raise messages.TOPIC_HAS_NO_LAKE(topic=topic, suggestion=did_you_mean(topic, names))
        return lakes[names.index(topic)]


def catalog_of(topics: Iterable[Topic], pipelines: Iterable[Pipeline]) -> Catalog:
    """Topics as declared, and those that pipelines read. Refuses two of one name."""
    declared = tuple(pipelines)
    known = tuple(_once(chain(topics, (topic for pipeline in declared for topic in pipeline.topics))))
    lakes = tuple(lake_pipeline(topic) for topic in known if topic.lake is not None)
    everything = (*lakes, *declared)
    seen: dict[str, Pipeline] = {}
    for pipeline in everything:
        if (other := seen.setdefault(pipeline.name, pipeline)) is not pipeline:
            raise messages.TWO_OF_ONE_NAME(what="pipelines", name=pipeline.name, places=_places(other.place, pipeline.place))
    return Catalog(known, everything)


def _once(topics: Iterable[Topic]) -> Iterator[Topic]:
    seen: dict[str, Topic] = {}
    for topic in topics:
        if (other := seen.get(topic.name)) is None:
            seen[topic.name] = topic
            yield topic
        elif other != topic:
            raise messages.TWO_OF_ONE_NAME(what="topics", name=topic.name, places=_places(other.place, topic.place))


def _places(*places: Place | None) -> list[str]:
    return [place.describe() for place in places if place is not None]
