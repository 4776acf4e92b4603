"""The offsets that a topic retains, on the real broker."""

from __future__ import annotations

import pytest

from anabranch.checkpoint.layout import OffsetRange
from anabranch.kafka.admin import KafkaAdmin
from tests.support.kafka_fixtures import grow

pytestmark = pytest.mark.kafka


def test_partitions_that_were_just_added_are_no_reason_to_fail(topics: KafkaAdmin, topic: str) -> None:
    """The broker leads them a moment after it lists them: without another try, six of ten looks failed."""
    for partitions in range(20, 220, 20):
        grow(topics.properties, topic, partitions)
        found = KafkaAdmin(topics.properties).offset_ranges(topic)
        assert set(found.values()) == {OffsetRange(0, 0)}
        # It may list them later, too.
        assert len(found) in (2, *range(20, partitions + 1, 20))
