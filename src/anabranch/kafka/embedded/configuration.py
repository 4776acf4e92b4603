"""The embedded broker's configuration files, as text. Pure."""

from __future__ import annotations

import re
from pathlib import Path

HOST = "127.0.0.1"
# Enough for a project on one machine, and leaves the memory to Spark.
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
        # A typo in a topic name must be an error, not a new topic.
        "auto.create.topics.enable": "false",
        # A rewind needs the records to be retained.
        "log.retention.ms": -1,
        "log.retention.bytes": -1,
        # One node: no replicas are possible.
        "offsets.topic.replication.factor": 1,
        "transaction.state.log.replication.factor": 1,
        "transaction.state.log.min.isr": 1,
        "share.coordinator.state.topic.replication.factor": 1,
        "share.coordinator.state.topic.min.isr": 1,
        # 50 partitions by default, each with its own files: too many for one laptop.
        "offsets.topic.num.partitions": 1,
        "transaction.state.log.num.partitions": 1,
        "group.initial.rebalance.delay.ms": 0,
    }
    return "".join(f"{name}={value}\n" for name, value in properties.items())


def port_of(properties: str) -> int | None:
    """The port in a text that `server_properties` made; None: it is not one."""
    found = re.search(rf"^listeners=PLAINTEXT://{re.escape(HOST)}:([0-9]{{1,5}}),", properties, re.M)
    return int(found[1]) if found else None


def log_configuration(log_file: Path) -> str:
    """Kafka's log: one file of at most 10 MB, and the previous one."""
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
