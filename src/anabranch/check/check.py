"""Checks pipelines one after the other, in one Spark session."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from anabranch.check import messages
from anabranch.check.findings import Finding
from anabranch.errors import Reason
from anabranch.pipeline.definition import Pipeline
from anabranch.project.project import Project
from anabranch.project.session import Busy, new_log_file, spark_for


@dataclass(frozen=True)
class CheckedPipeline:
    pipeline: Pipeline
    findings: tuple[Finding, ...]
    # What a proof has shown, or why there is none; None: none was asked for.
    proof: Reason | None = None

    @property
    def is_wrong(self) -> bool:
        return any(one.level == "finding" for one in self.findings)

    def as_json(self) -> dict[str, Any]:
        place = self.pipeline.place
        return {
            "pipeline": self.pipeline.name,
            "place": place.describe() if place else None,
            "recomputable": self.pipeline.is_recomputable,
            "findings": [one.as_json() for one in self.findings],
            "proof": self.proof.as_json() if self.proof else None,
        }


def check_pipelines(
    project: Project, pipelines: Sequence[Pipeline], ui: Busy, *, seed: int | None = None, debug: bool = False
) -> Iterator[CheckedPipeline]:
    """`seed`: of the events of a proof; None: nothing is proved."""
    log_file = new_log_file(project, "check")
    with spark_for(project, ui, log_file, debug=debug) as spark, TemporaryDirectory(prefix="anabranch-check-") as place:
        # They import pyspark.
        from anabranch.check.inspect import Inspection
        from anabranch.check.prove import Proof

        zone = project.settings.timezone
        for pipeline in pipelines:
            with ui.busy(f"Checking {pipeline.name}"):
                directory = Path(place) / pipeline.name
                directory.mkdir()
                findings = tuple(Inspection(spark, pipeline, directory, zone).findings())
                checked = CheckedPipeline(pipeline, findings)
            if seed is not None:
                with ui.busy(f"Proving {pipeline.name}"):
                    checked = _proved(checked, Proof(spark, pipeline, directory, zone, seed))
            yield checked


def _proved(checked: CheckedPipeline, proof: Any) -> CheckedPipeline:
    if any(one.code in _NO_PLAN for one in checked.findings):
        why = messages.NOT_PROVABLE(pipeline=checked.pipeline.name, why=messages.WHY_FINDINGS())
        return CheckedPipeline(checked.pipeline, checked.findings, why)
    found = proof.run()
    if isinstance(found, Finding):
        return CheckedPipeline(checked.pipeline, (*checked.findings, found))
    return CheckedPipeline(checked.pipeline, checked.findings, found)


# Where there is nothing to run.
_NO_PLAN = {
    message.code
    for message in (
        messages.NOT_A_FRAME,
        messages.RESULT_NOT_STREAMING,
        messages.ACTION_INSIDE,
        messages.TRANSFORM_RAISES,
        messages.SPARK_REFUSES,
        messages.BATCH_PLAN_FAILS,
        messages.KEY_NOT_IN_RESULT,
    )
}
