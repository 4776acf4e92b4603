"""A project: its directory and settings, and what they connect to: a Kafka cluster, a Spark session, checkpoints, the lake."""
