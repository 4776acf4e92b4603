"""What Kafka raises: clusters, topics, records, client properties and the embedded broker."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note

_CHECK_KAFKA = "anabranch doctor   checks whether Kafka answers"
_FIX_PROPERTIES = "fix [kafka.properties] in anabranch.toml"

# The cluster

KAFKA_UNREACHABLE = failure(
    "kafka-unreachable",
    "Kafka at {address} does not answer: {reason}",
    "anabranch broker start   for a broker on this machine",
    "or set kafka.bootstrap_servers in anabranch.toml to your cluster",
)
KAFKA_REJECTED_CREDENTIALS = failure(
    "kafka-rejected-credentials",
    "Kafka at {address} rejected our credentials: {reason}",
    _FIX_PROPERTIES,
)

# Topics and records

TOPIC_MISSING = misuse(
    "topic-missing",
    "there is no topic {topic!r} on {address}",
    "{suggestion}",
    "anabranch topics create {topic}",
)
TOPIC_EXISTS = misuse(
    "topic-exists", "topic {topic!r} exists already, with {partitions:#partition}", "anabranch topics   lists what it holds"
)
TOO_MANY_PARTITIONS = misuse(
    "too-many-partitions", "{partitions:,} partitions are more than a topic can have here", "use 1 to {most:,}"
)
TOPIC_NOT_CREATED = failure("topic-not-created", "topic {topic!r} was not created: {reason}", _CHECK_KAFKA)
TOPIC_NOT_DELETED = failure("topic-not-deleted", "topic {topic!r} was not deleted: {reason}")
TOPIC_CHANGE_UNCONFIRMED = failure(
    "topic-change-unconfirmed",
    "Kafka at {address} did not confirm within {timeout_s:g} s that topic {topic!r} was {change}",
    "anabranch topics   lists the topics that exist now",
    _CHECK_KAFKA,
)
RECORDS_NOT_ACKNOWLEDGED = failure(
    "records-not-acknowledged",
    "Kafka at {address} acknowledged {acknowledged:,} of {sent:#record} for topic {topic!r}: {reason}",
    _CHECK_KAFKA,
)
RECORDS_DELETED = failure(
    "records-deleted",
    "topic {topic!r}, partition {partition}: the records from offset {offset:,} on were deleted while they were being read",
    "run the same command again: it reads what the topic retains now",
)
# While a topic is followed.
TOPIC_AWAITED = note("topic-awaited", "there is no topic {topic!r} on {address} yet: waiting for it")
TOPIC_GONE = note("topic-gone", "topic {topic!r} was deleted: waiting for a new one")
TOPIC_THERE = note("topic-there", "topic {topic!r} is there: reading it from its beginning")
KAFKA_AWAITED = note("kafka-awaited", "Kafka at {address} does not answer: waiting for it, no record is skipped")
KAFKA_BACK = note("kafka-back", "Kafka at {address} answers again")
RECORDS_SKIPPED = note(
    "records-skipped",
    "topic {topic!r}, partition {partition}: {records:#record} from offset {offset:,} on were deleted before they were read",
)
RECORD_TOO_LARGE = failure(
    "record-too-large",
    "topic {topic!r} takes no record of {size:,} bytes; Kafka at {address} acknowledged {acknowledged:,} of {sent:#record}",
    "set max.message.bytes of the topic, and message.max.bytes below [kafka.properties] in anabranch.toml",
)
NO_DELIVERY_REPORT = note("no-delivery-report", "no answer within {timeout_s:g} s")

# Client properties. Their values may be secret and are never a parameter.

KAFKA_PROPERTIES_REJECTED = misuse(
    "kafka-properties-rejected",
    "the Kafka client rejected its properties: {reason}",
    _FIX_PROPERTIES,
)
JAAS_WITHOUT_LOGIN = misuse(
    "jaas-without-login",
    "kafka.properties: sasl.jaas.config has no username and password for the Python client",
    "set sasl.username and sasl.password instead: they are passed to Spark too",
)
TRUSTSTORE_NOT_PEM = misuse(
    "truststore-not-pem",
    "kafka.properties: ssl.truststore.location is a Java key store, which the Python client cannot read",
    "export its certificates as PEM (keytool -exportcert -rfc) and set ssl.ca.location: it is passed to Spark too",
)
KEYSTORE_NOT_READABLE = misuse(
    "keystore-not-readable",
    "kafka.properties: ssl.keystore.location is a Java key store, which the Python client cannot read",
    "keytool -importkeystore -srckeystore OLD -destkeystore NEW.p12 -deststoretype PKCS12"
    "   writes one that both clients read; then set ssl.keystore.type to PKCS12",
)
CERTIFICATE_INCOMPLETE = misuse(
    "certificate-incomplete",
    "kafka.properties: a client certificate and its key must be set together",
    "set both ssl.certificate.location and ssl.key.location",
)
KEY_NOT_PKCS8 = misuse(
    "key-not-pkcs8",
    "kafka.properties: the private key is not in PKCS#8 format, the only one that Spark's Kafka client reads",
    "openssl pkcs8 -topk8 -in OLD.key -out NEW.key   (-nocrypt: without a password), then set ssl.key.location",
)

# The embedded broker

BROKER_HIDDEN = failure(
    "broker-hidden",
    "a Kafka runs on this project's data and cannot be seen from here: it holds {lock}",
    "use it and stop it where it was started: on another host, or in another container",
)
BROKER_PORT_UNKNOWN = failure(
    "broker-port-unknown",
    "the broker runs as process {pid}, and {file} does not say on which port",
    "kill {pid}   stops it cleanly; then: anabranch broker start",
)
BROKER_NOT_STOPPED = failure(
    "broker-not-stopped",
    "the broker (process {pid}) did not stop within {timeout_s:g} s",
    "see its log: {log}",
    "kill -9 {pid}   (acknowledged records are kept)",
)
BROKER_NOT_FORMATTED = failure("broker-not-formatted", "Kafka could not format {directory}", "see its output: {log}")
BROKER_EXITED = failure("broker-exited", "the broker exited during startup: {reason}", "see its log: {log}")
BROKER_LOGGED_NO_ERROR = note("broker-logged-no-error", "it logged no error")
BROKER_NOT_ANSWERING = failure(
    "broker-not-answering",
    "the broker did not answer on {address} within {timeout_s:g} s and was stopped",
    "see its log: {log}",
)
PORT_UNAVAILABLE = failure(
    "port-unavailable",
    "port {port} on {host} is not available: {reason}",
    "anabranch broker start --port 0   uses a free port",
)
PORT_IN_USE = note("port-in-use", "process {pid} ({name}) listens on it")
