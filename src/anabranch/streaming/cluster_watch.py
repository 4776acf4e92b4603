"""What a run has to know of its cluster while it runs: whether it has executors, and whether a stage ran twice.

Spark says neither in a query's progress. On `local*` nothing is asked: the executor is the driver itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.spark.executors import has_executors, newest_stage, was_retried_since
from anabranch.spark.master import is_local

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class ClusterWatch:
    def __init__(self, spark: SparkSession) -> None:
        context = spark.sparkContext
        self._spark = spark
        self._is_local = is_local(context.master or "")
        # With it a cluster takes executors away that have nothing to do.
        self._gives_as_needed = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
        # Pipeline -> the newest stage at the last two looks: stages of a batch may begin before the look of the batch before.
        self._looks: dict[str, tuple[int, int]] = {}

    def lacks_executors(self) -> bool:
        return not (self._is_local or self._gives_as_needed or has_executors(self._spark))

    def was_retried(self, pipeline: str) -> bool:
        """Since the last look but one for this pipeline."""
        if self._is_local:
            return False
        before, last = self._looks.get(pipeline, (-1, -1))
        self._looks[pipeline] = (last, newest_stage(self._spark))
        return was_retried_since(self._spark, before)
