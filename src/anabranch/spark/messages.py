"""What Spark's setup raises: Java, the jars and the JVM."""

from __future__ import annotations

from anabranch.errors import failure, misuse, note, refusal

_INSTALL_JAVA = (
    "install Java 17 or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless; macOS: brew install openjdk@17)"
)
_IVY_SETTINGS = "behind a company mirror: set jars.ivy_settings in anabranch.toml to your Ivy settings file"
_IVY_LOG = "see Ivy's output: {log}"

JAVA_MISSING = failure("java-missing", "no Java found: JAVA_HOME is not set, and there is no java on the PATH", _INSTALL_JAVA)
JAVA_HOME_INVALID = failure(
    "java-home-invalid",
    "JAVA_HOME is {home}, but it contains no bin/java",
    "unset JAVA_HOME, or set it to a Java installation",
    _INSTALL_JAVA,
)
JAVA_VERSION_UNKNOWN = failure("java-version-unknown", "{path} does not report a Java version", _INSTALL_JAVA)
JAVA_TOO_OLD = failure(
    "java-too-old",
    "{path} is Java {version}; Spark 4.2 requires Java {oldest} or newer",
    _INSTALL_JAVA,
    "or set JAVA_HOME to a newer Java that is already installed",
)
PYSPARK_MISSING = failure("pyspark-missing", "pyspark is not installed in this Python environment", "pip install anabranch")
JAR_MISSING = failure(
    "jar-missing",
    "missing {missing} of {total} {jar_set} jars: {first} could not be fetched",
    "connect to a network, then run the same command again",
    _IVY_SETTINGS,
    _IVY_LOG,
)
JAR_HASH_MISMATCH = failure(
    "jar-hash-mismatch",
    "missing {missing} of {total} {jar_set} jars: {first} was fetched with another hash than jars.lock has",
    _IVY_SETTINGS,
    _IVY_LOG,
)
IVY_SETTINGS_MISSING = misuse(
    "ivy-settings-missing",
    "jars.ivy_settings is {path}, but there is no such file",
    "fix jars.ivy_settings in anabranch.toml",
)
SCALA_NOT_COMPILED = failure(
    "scala-not-compiled",
    "Anabranch's part of Spark could not be compiled for Spark {spark}: the compiler ended with {exit_code}",
    "see its output: {log}",
    "anabranch doctor",
)
SPARK_NOT_STARTED = failure(
    "spark-not-started",
    "Spark did not start: {reason}",
    "check [spark] in anabranch.toml and --set: anabranch config",
    "see its log: {log}",
)
JVM_EXITED = failure("jvm-exited", "Spark's JVM exited during startup", "see its log: {log}", "anabranch doctor")

# The one line of settings that helps where memory is short. 1g is Spark's own default.
_HEAP = "in anabranch.toml, under [spark]:  driver.memory = "
RAISE_HEAP = f'give Spark more heap than it has (1g unless set), {_HEAP}"2g"'
JVM_KILLED = failure(
    "jvm-killed",
    "Spark's JVM (process {pid}) was killed by {signal}; a system that runs out of memory does that",
    "dmesg | grep -i 'killed process'   tells whether it did",
    f'end other programs, or make Spark\'s heap fit into what is free, {_HEAP}"512m"',
    "full log: {log}",
    "{then}",
)
JVM_OUT_OF_MEMORY = failure(
    "jvm-out-of-memory", "Spark's JVM (process {pid}) ran out of heap memory", RAISE_HEAP, "full log: {log}", "{then}"
)
JVM_ENDED = failure(
    "jvm-ended", "Spark's JVM (process {pid}) ended by itself, with exit code {exit_code}", "full log: {log}", "{then}"
)

# On a cluster.
_OTHER_MASTER = "another address: --master, or master under [spark] in anabranch.toml; --master 'local[*]'   is this machine"
MASTER_UNREACHABLE = failure("master-unreachable", "no Spark master answers at {master}: {why}", "start it", _OTHER_MASTER)
MASTER_SILENT = failure(
    "master-silent",
    "{master} accepts connections and does not register this application: it is no Spark master, or of a much older version"
    " than this Spark {version}",
    "its web page names its version, its log what it did not understand",
    _OTHER_MASTER,
    "see our own log: {log}",
)
NO_EXECUTOR = note(
    "no-executor",
    "no executor yet: no worker has {memory} of memory and a core free for one (spark.executor.memory, spark.executor.cores,"
    " spark.cores.max); Ctrl-C stops",
)
EXECUTOR_PYTHON_DIFFERS = failure(
    "executor-python-differs",
    "executors run Python {theirs}, this is Python {python}: Spark needs the same minor version",
    'in anabranch.toml, under [spark]:  pyspark.python = "/path/on/the/workers/bin/python{python}"',
)
EXECUTOR_PYTHON_MISSING = failure(
    "executor-python-missing",
    "executors have no {path}, and need Python {python}",
    'in anabranch.toml, under [spark]:  pyspark.python = "/path/on/the/workers/bin/python{python}"',
)
EXECUTORS_OTHER_SPARK = failure(
    "executors-other-spark",
    "the cluster runs another Spark than this one, which is {version}: they do not understand each other",
    "use a cluster of Spark {version}; its master's web page names its version",
    _OTHER_MASTER,
)
EXECUTORS_FAILED = failure("executors-failed", "executors cannot run a first task: {reason}", "see the log: {log}")
PATH_NOT_SHARED = refusal(
    "path-not-shared",
    "executors on {hosts:, } do not see {directory} of this machine: checkpoint and tables must be on one path for all",
    "move the project to a directory that driver and workers share under one path: mv PROJECT /shared/PROJECT",
)
PATH_NOT_WRITABLE = refusal(
    "path-not-writable",
    "executors on {hosts:, } see {directory} and cannot write to it",
    "run workers and driver as the same user, or let that of the workers write: namei -l {directory}   shows who may",
)
