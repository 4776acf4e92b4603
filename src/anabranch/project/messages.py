"""What is said about a project and its settings."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note, refusal

_SHOW_CONFIG = "anabranch config   shows what is in force, and all that is wrong"

NOT_A_DIRECTORY = misuse("not-a-directory", "{path} is not a directory", "{remedy}")
WOULD_OVERWRITE = misuse(
    "would-overwrite",
    "{directory} already has {files:, }: nothing was written",
    "pass another directory, or move what is there away",
)
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

# Files that declare pipelines.
PIPELINES_FILE_MISSING = misuse(
    "pipelines-file-missing",
    "anabranch.toml names {file}, which is not there",
    "correct pipelines = [...] in anabranch.toml",
)
PIPELINES_NOT_PYTHON = misuse(
    "pipelines-not-python",
    "anabranch.toml names {file}, which is not a .py file",
    "correct pipelines = [...] in anabranch.toml: paths of Python files, and names of installed modules",
)
MODULE_NAME_TAKEN = misuse(
    "module-name-taken",
    "{file} cannot be imported as {name}: a module of this name is loaded already, or it is no name of a module",
    "rename the file, and correct pipelines = [...] in anabranch.toml",
)
PIPELINES_SYNTAX = misuse("pipelines-syntax", "{file}:{line}: {reason}", "correct that line, then: anabranch check")
PIPELINES_WRONG = misuse("pipelines-wrong", "{where}: {what}", "{ways}")
PIPELINES_IMPORT = misuse(
    "pipelines-import",
    "{where}: there is no module {module!r}",
    "install it for {python}, or put it beside the file that imports it",
)
PIPELINES_RAISED = misuse(
    "pipelines-raised", "{where}: {kind}: {text}", "correct that line; anabranch check --debug shows the whole trace"
)
PIPELINES_NEED_SPARK = misuse(
    "pipelines-need-spark",
    "{where}: this needs a Spark session, and none is started before pipelines are declared",
    "write the type of a UDF as a type, not as text: @F.udf(IntegerType())",
    "or move it into the function of the pipeline, which is called when Spark runs",
)
SESSION_BLOCKED = misuse(
    "session-blocked",
    "{what} was called while pipelines are declared: Anabranch starts Spark, and a setting would hold for all pipelines",
    "remove the call; settings of Spark belong into [spark] of anabranch.toml",
)
NO_PIPELINES = misuse(
    "no-pipelines",
    "no pipeline is declared in {files:, }",
    "declare one: @ab.pipeline(topic, to=ab.console()) above a function of frames",
)
PIPELINES_NOT_READ = misuse(
    "pipelines-not-read", "the pipelines of this project have not been read yet: {files:, }", "anabranch check"
)
SOURCES_CHANGED = note(
    "sources-changed",
    "{files:, } changed since Anabranch last read it: what is shown is the definition of then (anabranch check reads it again)",
)
SOURCES_GONE = note("sources-gone", "{files:, } is gone: what is shown is the definition that Anabranch last read")
