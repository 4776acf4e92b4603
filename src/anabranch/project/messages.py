"""What is said about a project and its settings."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note, refusal

_SHOW_CONFIG = "anabranch config   shows what is in force, and all that is wrong"

NOT_A_DIRECTORY = misuse("not-a-directory", "{path} is not a directory", "{remedy}")
PACKAGE_MISSING = failure(
    "package-missing",
    "the Python package {package} is not installed in {environment}",
    "make install   in a clone of Anabranch",
    "or: {python} -m pip install {package}",
)
NO_KAFKA = failure(
    "no-kafka",
    "no Kafka: the broker of {directory} is not running, and kafka.bootstrap_servers is not set",
    "anabranch broker start",
    "or set kafka.bootstrap_servers in anabranch.toml",
)
KEY_FILE_UNREADABLE = misuse("key-file-unreadable", "kafka.properties names {file}, which cannot be read: {reason}")
KEY_FILE_NOT_PEM = misuse("key-file-not-pem", "kafka.properties names {file}, which is not PEM", "export it as PEM")

# Settings.
SETTINGS_MALFORMED = misuse("settings-malformed", "{file} is not TOML: {reason}", _SHOW_CONFIG)
SETTINGS_NOT_UTF8 = misuse(
    "settings-not-utf8", "{file} is not UTF-8: {reason} in line {line}", "save it as UTF-8, then: anabranch config"
)
SETTINGS_UNREADABLE = misuse("settings-unreadable", "{file} cannot be read: {reason}", "{remedy}, then: anabranch config")
UNKNOWN_VARIABLE = misuse("unknown-variable", "the environment variable {name} sets nothing", "{suggestion}")
VARIABLE_MALFORMED = misuse(
    "variable-malformed",
    "an environment variable sets a table and its value is not JSON: {names: or }",
    'write it like {example}=\'{{"name": "value"}}\'',
)
UNKNOWN_SETTING = misuse("unknown-setting", "unknown setting {key} in {where}", "{suggestion}", _SHOW_CONFIG)
SETTING_INVALID = misuse("setting-invalid", "the setting {key} in {where} is invalid: {reason}", _SHOW_CONFIG)
SKIP_OF_OTHER_TOPIC = misuse(
    "skip-of-other-topic",
    "the setting skip names the record {record}, and the pipeline reads the topic {topic}",
    "write it like {topic}:0:24, or remove it",
)

# Migration of a project that an earlier version wrote.
MIGRATED = note(
    "migrated",
    "this project was written by Anabranch 0.1.0: {files:#file} rewritten in the formats of this version;"
    " the originals are in {aside}",
)
MIGRATION_BLOCKED = refusal(
    "migration-blocked",
    "this project was written by Anabranch 0.1.0 and cannot be migrated now: {name} runs ({holder})",
    "stop it with the version that runs it, then run the same command again",
)
