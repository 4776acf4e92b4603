"""Anabranch runs Spark Structured Streaming pipelines, and lets you take them back."""

__version__ = "0.2.0"
__all__ = ["__version__"]
