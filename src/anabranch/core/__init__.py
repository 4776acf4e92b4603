"""Core decides: pure functions on plain values. No Spark, no files, no clock."""
