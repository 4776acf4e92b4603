"""Anabranch runs Spark Structured Streaming pipelines over web visits, and lets you take them back."""

__version__ = "0.1.0"
