"""A real Kafka broker without docker: KRaft, one node, loopback only, its data in the project."""
