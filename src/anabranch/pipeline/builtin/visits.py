"""The topic of the seeds: visits, as the seeds spell them."""

from __future__ import annotations

from anabranch.pipeline.topic import define_topic

VISITS = define_topic(
    "visits",
    # The ids before the texts: of several fields of a wrong type, the first is named.
    schema="event_time TIMESTAMP NOT NULL, visit_id STRING, user_id STRING, event_id STRING, page STRING, browser STRING",
    event_time="event_time",
    lake=".anabranch/lake/visits",
    # Seed 004 writes these.
    aliases={"user_id": "userId", "event_time": "eventTime"},
    # Seed 001 writes numbers.
    integers_as_text=("visit_id", "user_id"),
)
