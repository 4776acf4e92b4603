"""Kafka through its Python client, and the embedded broker."""
