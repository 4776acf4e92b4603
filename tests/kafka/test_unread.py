"""The timestamps of the first unread records, on the real broker."""

from __future__ import annotations

import pytest

from anabranch.kafka.admin import KafkaAdmin
from anabranch.kafka.records import GroupProducer, read_records
from anabranch.kafka.unread import Place, first_timestamps_ms

pytestmark = pytest.mark.kafka
# Longer than it takes on a busy machine; it is not waited for where all places are answered.
_PATIENT_S = 60.0


def test_places_in_one_partition_take_turns_and_the_end_of_one_has_no_record(topics: KafkaAdmin, topic: str) -> None:
    producer = GroupProducer(topics.properties, topic)
    for number in range(6):
        # Each is a batch of its own, with a timestamp of its own.
        producer.send([(None, f"{number}".encode() * 100_000)], partition=number % 2)
    sent = {Place(topic, one.partition, one.offset): one.timestamp_ms for one in read_records(topics, topic)}
    assert len(sent) == 6
    ends = {Place(topic, partition, 3): None for partition in (0, 1)}
    assert first_timestamps_ms(topics, [*sent, *ends, *sent], _PATIENT_S) == {**sent, **ends}


def test_a_place_that_gets_no_answer_is_left_out(topics: KafkaAdmin, topic: str) -> None:
    assert first_timestamps_ms(topics, [], _PATIENT_S) == {}
    assert first_timestamps_ms(topics, [Place(topic, 0, 99)], _PATIENT_S) == {}
    assert first_timestamps_ms(topics, [Place(topic, 0, 0)], 0.0) == {}
    nowhere = KafkaAdmin({**topics.properties, "bootstrap.servers": "127.0.0.1:1"})
    assert first_timestamps_ms(nowhere, [Place(topic, 0, 0)], 0.2) == {}
