"""The outside: processes, leases, Kafka topics, checkpoint files. Each effect in one place, none of them decides."""
