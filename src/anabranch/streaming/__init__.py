"""The data path on Spark, in reading order: event, source, transform, sessions, sink, pipeline, run."""
