"""Kafka through the Python client, and the embedded broker."""
