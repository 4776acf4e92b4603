"""A Kafka topic: each result is a record under the key of its grouping. At least once: a repeated batch is written again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import Reason
from anabranch.operations.change import SinkChange
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.sinks import Out, Results
from anabranch.streaming import messages
from anabranch.streaming.result_headers import emitted_and_corrected, stream_headers
from anabranch.streaming.sinks.base import BatchWriter, QueryRun, RewoundBatches, SinkPolicy, leave, register

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from anabranch.kafka.admin import KafkaAdmin

# A topic of so many results is read in a second or two; of a longer one the keys are not counted.
_MOST_RESULTS = 200_000


class TopicPolicy(SinkPolicy):
    kind = "topic"

    def prepare(self, pipeline: Pipeline, kafka: KafkaAdmin) -> Reason | None:
        """With as many partitions as the topic that the pipeline reads; the first of several."""
        topic = _name(pipeline)
        existing = {found.name: found.partitions for found in kafka.all()}
        if topic in existing:
            return None
        partitions = existing[pipeline.topic.name]
        kafka.create(topic, partitions)
        return messages.TOPIC_CREATED(pipeline=pipeline.name, topic=topic, partitions=partitions)

    def batch_writer(self, run: QueryRun, out: Out) -> BatchWriter:
        del out
        from anabranch.streaming.results import as_records

        pipeline = run.pipeline
        options = {"topic": _name(pipeline), **{f"kafka.{key}": value for key, value in run.kafka.items()}}

        def write(batch: DataFrame, batch_id: int) -> None:
            records = as_records(batch, pipeline.grouping, stream_headers(pipeline.name, batch_id))
            records.write.format("kafka").options(**options).save()

        return write

    def plan_rewind(self, rewound: RewoundBatches) -> SinkChange:
        """Nothing is taken back: results are emitted again, and readers that keep the latest of each key end right."""
        pipeline, topic = rewound.pipeline, _name(rewound.pipeline)
        if not pipeline.grouping:
            return leave(self.kind, messages.TOPIC_WITHOUT_KEYS(topic=topic, batch=rewound.batch))
        about = [*_counts(rewound, topic)]
        if pipeline.output_mode == "update":
            about.append(messages.TOPIC_COUNTS_GO_DOWN())
        return leave(self.kind, messages.TOPIC_EMITS_AGAIN(topic=topic, about=about))


def _counts(rewound: RewoundBatches, topic: str) -> list[Reason]:
    kafka = rewound.kafka
    if topic not in {found.name for found in kafka.all()}:
        return []
    held = sum(offsets.count for offsets in kafka.offset_ranges(topic).values())
    if held > _MOST_RESULTS:
        return [messages.TOPIC_NOT_COUNTED(records=held)]
    from anabranch.kafka.records import read_records

    results = read_records(kafka, topic)
    emitted, corrected = emitted_and_corrected(results, rewound.pipeline.name, rewound.batch)
    counts = [messages.TOPIC_KEYS(keys=len(emitted))]
    return [*counts, messages.TOPIC_OVERWRITES_CORRECTED(keys=len(corrected))] if corrected else counts


def _name(pipeline: Pipeline) -> str:
    assert isinstance(pipeline.sink, Results)
    return pipeline.sink.name


register(TopicPolicy())
