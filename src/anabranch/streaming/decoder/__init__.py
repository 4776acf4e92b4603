"""The decoder: what a Kafka record says, or which problem it has."""
