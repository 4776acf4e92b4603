"""A Kafka that requires a login and TLS: one set of properties, two clients that use it, and no secret anywhere."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import monotonic

import psutil
import pytest

from anabranch.kafka.embedded.configuration import HOST
from tests.kafka.secure_broker import PASSWORD, PASSWORD_CORE, STORE_PASSWORD, USER, SecureKafka, running_secure_broker
from tests.support.harness import Project, Running

pytestmark = pytest.mark.kafka

VISIT = '{"visit_id": "by hand", "event_time": "2025-09-04T07:00:00", "page": "main"}'
# A Kafka that is unreachable or rejects the credentials is reported within seconds: the client waits for 5, a busy machine
# needs the rest.
MOST_SECONDS = 60.0

MakeProject = Callable[[str, str, Mapping[str, str]], Project]


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with running_secure_broker(tmp_path_factory.mktemp("secure")) as kafka:
        yield kafka


@pytest.fixture
def make_secure(make_project: Callable[[str], Project]) -> MakeProject:
    """A project with these Kafka properties, whose visits-log reads the topic of the project's name."""

    def make(name: str, address: str, properties: Mapping[str, str]) -> Project:
        project = make_project(name)
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in properties.items())
        project.configure(
            f'[kafka]\nbootstrap_servers = "{address}"\n[kafka.properties]\n{lines}\n'
            f'[pipeline.visits-log]\ntopics = {{ source = "{name}" }}\n'
        )
        return project

    return make


@pytest.mark.parametrize(
    "spelling", [SecureKafka.in_librdkafka_spelling, SecureKafka.in_java_spelling], ids=["librdkafka", "java"]
)
def test_python_and_spark_connect_with_one_set_of_properties_and_no_secret_is_shown(
    secure: SecureKafka, spelling: Callable[[SecureKafka], Mapping[str, str]], make_secure: MakeProject
) -> None:
    topic = spelling.__name__
    project = make_secure(topic, secure.mutual, spelling(secure))
    done = [
        project("--debug", "topics", "create", topic),
        project("--debug", "generate", topic, "--count", "10"),
        project("--debug", "produce", topic, text=VISIT),
        project("config"),
        project("config", "--json"),
        project("--debug", "consume", topic),
    ]
    assert [one.returncode for one in done] == [0] * len(done), done
    consumed = done[-1].stdout.splitlines()
    assert (len(consumed), VISIT in consumed) == (11, True)

    running = project.start("--debug", "run", "visits-log", "--until-caught-up")
    commands = _commands_while(running)
    assert running.await_end() == 0, running.err
    assert len([line for line in running.out if re.match(r"Partition\[\d\] > Printing visit=Row\(", line)]) == 11

    assert any("org.apache.spark.deploy.SparkSubmit" in command for command in commands)
    files = [path.read_text(errors="replace") for path in (project.directory / ".anabranch").rglob("*") if path.is_file()]
    # With --debug Java's clients log all their settings: they are in the log, and the secrets are not.
    assert any("sasl.jaas.config = [hidden]" in text for text in files)
    outputs = [text for one in done for text in (one.stdout, one.stderr)]
    assert secure.secrets_in("\n".join([*outputs, *running.out, *running.err, *commands, *files])) == []


def _commands_while(running: Running) -> set[str]:
    """The command lines of the process and of all its children, which every user of the machine can see."""
    seen: set[str] = set()
    while running.process.poll() is None:
        try:
            process = psutil.Process(running.process.pid)
            for one in (process, *process.children(recursive=True)):
                seen.add(" ".join(one.cmdline()))
        except psutil.Error:
            continue  # it has just exited
        try:
            running.process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    return seen


@dataclass(frozen=True)
class Case:
    project: Project
    command: tuple[str, ...]
    code: str
    # What the reason must contain, as a regular expression.
    reason: str
    exit_code: int = 1


def test_a_rejected_client_gets_the_reason_within_seconds_and_without_the_secrets(
    secure: SecureKafka, make_secure: MakeProject
) -> None:
    def attempt(case: Case) -> None:
        begun_s = monotonic()
        done = case.project(*case.command)
        assert monotonic() - begun_s < MOST_SECONDS, case
        assert (done.returncode, done.stdout) == (case.exit_code, ""), (case, done.stderr)
        assert re.search(rf"\[{case.code}\]: .*{case.reason}", done.stderr), (case, done.stderr)
        assert secure.secrets_in(done.stderr) == [], case

    # In parallel: they mostly wait.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attempt, [*_wrong_passwords(secure, make_secure), *_wrong_settings(secure, make_secure)]))


def _wrong_passwords(secure: SecureKafka, make_secure: MakeProject) -> Iterator[Case]:
    """Every command that connects to Kafka reports it in the same way."""
    properties = {**secure.login_properties(), "sasl.password": f"{PASSWORD}-wrong"}
    project = make_secure("wrong-password", secure.login, properties)
    commands = [
        ("--debug", "topics"),
        ("topics", "create", "visits"),
        ("consume", "visits"),
        ("produce", "visits"),
        ("run", "visits-log"),
        ("generate", "--count", "1"),
    ]
    for command in commands:
        yield Case(project, command, "kafka-rejected-credentials", "SASL")


def _wrong_settings(secure: SecureKafka, make_secure: MakeProject) -> Iterator[Case]:
    login, topics, debug_topics = secure.login_properties(), ("topics",), ("--debug", "topics")
    # Each in its own project: two concurrent runs in one would compete for a lease.
    mechanism = make_secure("wrong-mechanism", secure.login, {**login, "sasl.mechanisms": "SCRAM-SHA-256"})
    supported = "broker's supported mechanisms: SCRAM-SHA-512,PLAIN"
    yield Case(mechanism, ("--debug", "run", "visits-log"), "kafka-rejected-credentials", supported)

    ca = make_secure("wrong-ca", secure.login, {**login, "ssl.ca.location": str(secure.client_certificate)})
    # The client reports both, in either order.
    verify = "(verify that ssl.ca.location is correctly configured|certificate verify failed)"
    yield Case(ca, topics, "kafka-rejected-credentials", verify)

    no_certificate = make_secure("no-certificate", secure.mutual, login)
    yield Case(no_certificate, topics, "kafka-rejected-credentials", "certificate")

    store = {"ssl.keystore.location": str(secure.client_store), "ssl.keystore.password": f"{STORE_PASSWORD}-wrong"}
    wrong_store = make_secure("wrong-store", secure.mutual, {**login, **store})
    yield Case(wrong_store, topics, "kafka-properties-rejected", "PKCS#12", exit_code=2)

    typo = make_secure("wrong-name", secure.login, {**login, "sasl.pasword": PASSWORD})
    yield Case(typo, topics, "kafka-properties-rejected", 'No such configuration property: "sasl.pasword"', exit_code=2)

    address = make_secure("wrong-address", f"{HOST}:1", login)
    yield Case(address, debug_topics, "kafka-unreachable", rf"{HOST}:1 .*Connection refused")


def test_a_login_that_is_wrong_only_for_java_ends_the_run_with_the_reason(
    secure: SecureKafka, make_secure: MakeProject
) -> None:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    wrong = f'{module} required username="{USER}" password="{PASSWORD_CORE}-wrong";'
    project = make_secure("java-alone", secure.login, {**secure.login_properties(), "sasl.jaas.config": wrong})
    project.ok("topics", "create", "java-alone")
    done = project("run", "visits-log")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "Authentication failed" in done.stderr
    assert secure.secrets_in(done.stderr) == []
