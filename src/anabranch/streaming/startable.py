"""Why a query cannot start on its checkpoint: one judge for run, rewind, checkpoint and status.

Decides from what was found (preflight.py looks): the refusals that a run would end with, not raised. What is not known is not
judged: without Kafka nothing is said about topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from anabranch.checkpoint.baseline import Baseline
from anabranch.checkpoint.checkpoint import Checkpoint
from anabranch.checkpoint.layout import RetainedOffsets
from anabranch.checkpoint.messages import OTHER_CLUSTER, OTHER_SINK, TOPIC_RECREATED
from anabranch.checkpoint.restartable import not_retained
from anabranch.errors import Reason, Refused
from anabranch.pipeline.definition import Pipeline
from anabranch.streaming import messages


@dataclass(frozen=True)
class StartFacts:
    """What is known of a pipeline that is to start on a checkpoint."""

    pipeline: Pipeline
    path: str
    # Its logs.
    checkpoint: Checkpoint
    # As at the last start; None: nothing was written down.
    before: Baseline | None
    now: Baseline
    # What Kafka retains of each topic that it reads; None: Kafka is unreachable.
    retained: RetainedOffsets | None
    # As a command names it, with its sink; and the command that sets its checkpoint aside.
    called: str
    set_aside: str

    @property
    def is_first(self) -> bool:
        """No batch was ever planned: what is beside the checkpoint is of an earlier one."""
        return not self.checkpoint.batches


def why_not_this_source(facts: StartFacts) -> Iterator[Refused]:
    """The offsets of the checkpoint mean other records now, or are of another query."""
    if facts.is_first or facts.before is None:
        return
    recorded, query_id = facts.before.query_id, facts.checkpoint.query_id
    if recorded is not None and query_id is not None and recorded != query_id:
        yield messages.OTHER_QUERY_ID(pipeline=facts.pipeline.name, now=query_id, before=recorded, checkpoint=facts.path)
    if reasons := list(facts.before.source_differences(facts.now)):
        yield _differs(facts, reasons)


def why_not_these_settings(facts: StartFacts) -> Iterator[Refused]:
    if facts.is_first or facts.before is None:
        return
    if reasons := list(facts.before.setting_differences(facts.now)):
        yield _differs(facts, reasons)


def why_not_these_partitions(facts: StartFacts, master: str, count_cores: Callable[[], int]) -> Iterator[Refused]:
    """Nobody has said their number, on a cluster: a first start would fix that of one machine for the lifetime of the state."""
    if facts.is_first and keeps_state(facts.pipeline):
        cores = count_cores()
        about = {"pipeline": facts.pipeline.name, "called": facts.called, "master": master, "partitions": max(2, cores)}
        yield messages.PARTITIONS_NOT_CHOSEN(**about, cores=cores or "an unknown number of")


def keeps_state(pipeline: Pipeline) -> bool:
    """Whether its results are made of more than one batch."""
    return not pipeline.per_batch and (bool(pipeline.grouping) or pipeline.watermark_s is not None)


def why_not_retained(facts: StartFacts) -> Iterator[Refused]:
    """Kafka lacks what the next batch needs. Spark does not look (docs/internals/hazards.md, N)."""
    if facts.retained is None:
        return
    start = facts.checkpoint.start_of(facts.checkpoint.next_batch)
    if gone := list(not_retained(start, facts.retained)):
        yield messages.OFFSETS_LOST(pipeline=facts.pipeline.name, why=gone, ways=list(_start_over(facts)))


def _differs(facts: StartFacts, reasons: list[Reason]) -> Refused:
    ways: list[Reason] = []
    codes = {reason.code for reason in reasons}
    if OTHER_SINK.code in codes and facts.before is not None:
        ways.append(messages.WAY_OWN_SINK(pipeline=facts.pipeline.name, sink=facts.before.sink))
    if OTHER_CLUSTER.code in codes:
        ways.append(messages.WAY_OWN_KAFKA())
    if codes - {OTHER_SINK.code, OTHER_CLUSTER.code, TOPIC_RECREATED.code}:
        ways.append(messages.WAY_RESTORE_SETTING())
    return messages.CHECKPOINT_DIFFERS(pipeline=facts.pipeline.name, why=reasons, ways=[*ways, *_start_over(facts)])


def _start_over(facts: StartFacts) -> Iterator[Reason]:
    yield messages.WAY_SET_ASIDE(command=facts.set_aside)
    if facts.pipeline.is_recomputable:
        yield messages.WAY_REPROCESS_AFTERWARDS(pipeline=facts.pipeline.name)


def what_changed(facts: StartFacts) -> Iterator[Reason]:
    """What is not as it was at the last start, and may be so: it is said."""
    if facts.is_first:
        return
    if facts.before is None:
        yield messages.NOTHING_COMPARED(pipeline=facts.pipeline.name)
        return
    for change in facts.before.changes(facts.now):
        yield messages.CHANGED(pipeline=facts.pipeline.name, change=change)


def where_it_starts(facts: StartFacts, start: str) -> Reason:
    name, newest = facts.pipeline.name, facts.checkpoint.newest
    if newest is None:
        return messages.FIRST_START(pipeline=name, where=_WHERE[start], topic=", ".join(facts.pipeline.topic_names))
    if newest in facts.checkpoint.commits:
        return messages.RESUMES(pipeline=name, batch=newest)
    return messages.REPEATS_BATCH(pipeline=name, batch=newest)


_WHERE = {"earliest": "from the beginning of", "latest": "from the end of", "sink": "behind what its table holds of"}
