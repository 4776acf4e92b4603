"""The pipelines' transformations, a few lines each. Their facts (topics, windows, triggers) are in core/pipeline.py."""
