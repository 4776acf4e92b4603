"""What is told of a window."""

from __future__ import annotations

EXPLANATIONS: dict[str, dict[str, str]] = {
    "BatchShare": {
        "batch": "The batch.",
        "planned_at": "When it was planned.",
        "committed_at": "When it was committed; null: that was not kept.",
        "counted": "Usable records of the window that it counted; null: it is not known which were late.",
        "late": "Those that it dropped; null: not known.",
        "problems": "Records with a problem and a time of the window; null: with a key, which such a record has not.",
    },
    "CorrectedBy": {
        "operation": "The id of the operation.",
        "kind": "`reprocess` or `repair`.",
        "begun_at": "When it began.",
    },
    "DroppedRecord": {
        "event_time": "Its event time.",
        "watermark": "By which it was dropped.",
    },
    "Emitted": {
        "at": "Kafka's own time of it.",
        "value": "The result.",
        "batch": "The batch that emitted it.",
        "operation": "The operation that sent it.",
    },
    "Explanation": {
        "pipeline": "The pipeline.",
        "start": "When the window begins.",
        "end": "When it ends.",
        "state": "`unknown`: it closed before the oldest batch that is known.",
        "first_batch": "The oldest batch that was looked at.",
        "last_batch": "The newest batch that was looked at.",
        "behind": "Newer batches, whose records the lake does not have yet.",
        "usable": "Usable records of the window in the lake.",
        "batches": "The batches that have read records of the window, oldest first.",
        "late_records": "The first 1,000 late ones, by partition and offset.",
        "closed_by": "What closed it; null: it is open, or that is not known.",
        "waits": "What it waits for; null: it is not open.",
        "corrections": "The operations that have sent its results, oldest first.",
        "result": "The result of the key; null: no key was asked for.",
        "since_correction": "Usable records that came after the newest of these had read the lake. null: there is none.",
        "notes": "What to mind: a list of `code`, `params`, `text`.",
    },
    "KeyResult": {
        "should_be": "By all usable records of the key; null: no result.",
        "counted": "By those that were counted; null: no result, or it is not known which these are.",
    },
    "PartitionNews": {"partition": "The partition."},
    "Waits": {
        "event_time": "Of the record.",
        "partitions": "How far each partition has come.",
    },
}
