"""What is said to tests of pipelines."""

from __future__ import annotations

from anabranch.errors import misuse

TEST_NOT_ENTERED = misuse(
    "test-not-entered",
    "the test of pipeline {pipeline} is not open",
    "write: with PipelineTest({pipeline}) as stream: ...",
)
BATCH_NEEDS_TOPICS = misuse(
    "batch-needs-topics",
    "pipeline {pipeline} reads {topics:, }: a batch must say which records are of which",
    'write: stream.batch({{"{topics[0]}": [...]}})',
)
NOT_A_TOPIC = misuse(
    "not-a-topic", "pipeline {pipeline} reads {topics:, }, and the batch has records of {given:, }", "name one of its topics"
)
