"""What an audit keeps."""

from __future__ import annotations

AUDITS: dict[str, dict[str, str]] = {
    "Audit": {
        "id": "Its id.",
        "at": "When it was made.",
        "pipeline": "The pipeline.",
        "pins": "What it looked at.",
        "verdict": "What it found.",
        "balance": "What became of the records.",
        "late": "The late records; null: there are none.",
        "notes": "What to mind.",
    },
    "Balance": {
        "in_lake": "Records in the lake.",
        "counted": "Those that the stream counted.",
        "late": "Those that its watermark dropped.",
        "problems": "Those with a problem, by today's rules.",
    },
    "ClosedBy": {
        "window_end": "When the window ends.",
        "batch": "The first batch whose watermark had reached it.",
        "watermark": "That watermark.",
        "event_time": "Of that record.",
    },
    "Concentration": {
        "value": "The value.",
        "late": "Late records that have it.",
        "of_late": "Of so many late records.",
    },
    "Found": {
        "start": "When the window begins.",
        "end": "When it ends.",
        "key": "The key of the result.",
        "counted": "Those that the stream counted.",
        "late": "Those that it dropped.",
        "problems": "Those with a problem.",
        "emitted": "The latest result of this key; null: there is none.",
        "should_be": "What the lake gives; null: no result.",
        "verdict": "Its class.",
    },
    "Late": {
        "count": "How many there are.",
        "median_ms": "The same of the middle one.",
        "most_ms": "The same of the latest one.",
        "by_partition": "Partition -> how many.",
        "concentrated": "What they have in common.",
    },
    "LateRecord": {
        "partition": "Its partition.",
        "offset": "Its offset.",
        "event_ms": "Its event time, in milliseconds since 1970.",
        "arrived_ms": "Kafka's own time of it.",
        "batch": "The batch that read it; null: one before the oldest that is known.",
        "was_read": "Whether the stream has read it.",
    },
    "Pins": {
        "lake": "Where the lake is.",
        "lake_id": "The id of its table.",
        "lake_version": "Its version.",
        "last_batch": "The newest batch.",
        "history_bytes": "How much was written of the history of the stream's batches.",
        "watermark": "With which the newest batch ran; null: none.",
        "source_topic_id": "Kafka's id of the topic that is read; null: the results are in a table.",
        "result_topic_id": "Kafka's id of the topic of the results.",
        "stream_id": "The id of the stream's query.",
    },
    "Verdict": {
        "equal": "Windows of which every result is right.",
        "wrong": "Windows with a result that is wrong.",
        "usable": "Usable records of the windows that were judged.",
        "not_counted": "Those of them that no result counts.",
    },
}
