"""Anabranch runs Spark Structured Streaming pipelines, and lets you take them back."""

# `pipeline` is the decorator here, and a package: write `from anabranch.pipeline.x import y`. Loads no pyspark.
from anabranch.pipeline.declare import console, pipeline, results, table, topic
from anabranch.pipeline.definition import Pipeline
from anabranch.pipeline.topic import Topic

__version__ = "0.2.0"
__all__ = ["Pipeline", "Topic", "__version__", "console", "pipeline", "results", "table", "topic"]
