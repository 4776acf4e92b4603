"""The embedded broker's own files: what Kafka reads at its start. Pure: texts from values."""

from __future__ import annotations

from pathlib import Path

HOST = "127.0.0.1"
# Enough for a project on one machine; the rest of the memory is Spark's.
HEAP = "512m"


def server_properties(port: int, controller_port: int, data_dir: Path) -> str:
    properties = {
        "process.roles": "broker,controller",
        "node.id": 1,
        "listeners": f"PLAINTEXT://{HOST}:{port},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{port}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "log.dirs": data_dir,
        # A typing error in a topic's name must be an error, not a new topic.
        "auto.create.topics.enable": "false",
        # What can be taken back must still be there.
        "log.retention.ms": -1,
        "log.retention.bytes": -1,
        # One node: nothing can be replicated.
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        # 50 partitions by default, each with files of its own, on one laptop.
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.num.partitions": 1,
        "group.initial.rebalance.delay.ms": 0,
    }
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def log_configuration(log_file: Path) -> str:
    """Kafka's own log, in one file of at most 10 MB and the one before it."""
    return f"""\
status = error
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = {log_file}
appender.file.filePattern = {log_file}.old
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{{ISO8601}} %p %c{{1}} %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 1
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
"""
