"""A Kafka that asks for a login and for TLS: one place for the settings, two clients that use them, no secret anywhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

import psutil
import pytest

from anabranch.kafka.admin import answers
from anabranch.kafka.embedded.configuration import HOST, log_configuration, server_properties
from anabranch.spark.jars import ensure_jars
from anabranch.spark.java import find_java
from tests.support.harness import PATIENCE_S, Project, Running

pytestmark = pytest.mark.kafka

USER = "alice"
# What must not be seen anywhere; the marks behind it are those that quoting gets wrong.
CORE = "Sup3rWort"
PASSWORD = f"{CORE} \"x\\y'; ="
STORE_PASSWORD = "st0reW0rt"
VISIT = '{"visit_id": "by hand", "event_time": "2025-09-04T07:00:00", "page": "main"}'
# Kafka away, or not letting us in, is told of within seconds: 5 of them are the client's, the rest is a busy machine's.
SECONDS = 20.0

Properties = Mapping[str, str]


@dataclass(frozen=True)
class SecureKafka:
    """One broker with two doors: `login` asks for a password, `mutual` for a certificate of the client's too."""

    login: str
    mutual: str
    # The broker's certificate is its own authority. The client's is in a store with its key, and alone in PEM.
    authority: Path
    client_store: Path
    client_certificate: Path
    # Java's own tools do not write keys as PEM; None where there is no openssl to do it.
    client_key: Path | None

    def in_pythons_words(self) -> dict[str, str]:
        key = {"ssl.certificate.location": str(self.client_certificate), "ssl.key.location": str(self.client_key)}
        store = {"ssl.keystore.location": str(self.client_store), "ssl.keystore.password": STORE_PASSWORD}
        return {**self.login_in_pythons_words(), **(key if self.client_key else store)}

    def login_in_pythons_words(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.authority),
        }

    def in_javas_words(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": (
                "org.apache.kafka.common.security.plain.PlainLoginModule required\n"
                f'  username="{USER}"\n  password="{_quoted(PASSWORD)}";'
            ),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self.client_store),
            "ssl.keystore.password": STORE_PASSWORD,
        }

    def secrets(self) -> list[str]:
        """What must not be seen: of the password and of the key a part that no quoting changes."""
        key = [self.client_key.read_text().split("-----")[2].split()[0]] if self.client_key else []
        return [CORE, STORE_PASSWORD, *key]


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    directory = tmp_path_factory.mktemp("secure")
    with ThreadPoolExecutor() as both:
        list(both.map(lambda name: _make_certificate(directory, name), ("broker", "client")))
    plain, controller, login, mutual = _free_ports(4)
    properties = directory / "server.properties"
    properties.write_text(
        server_properties(plain, controller, directory / "data")
        + _secure_properties(directory, plain, controller, login, mutual),
        encoding="utf-8",
    )
    (directory / "log4j2.properties").write_text(log_configuration(directory / "broker.log"), encoding="utf-8")
    java = [
        *(str(find_java().path), "-Xmx512m", "-cp", os.pathsep.join(map(str, ensure_jars("broker")))),
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
    ]
    login_of_user = f'SCRAM-SHA-512=[name="{USER}",password="{PASSWORD}"]'
    format_command = ["kafka.tools.StorageTool", "format", "-t", "YW5hYnJhbmNoLXNlY3VyZQ", "-c", str(properties)]
    done = subprocess.run([*java, *format_command, "--add-scram", login_of_user], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with (directory / "output.log").open("wb") as output:
        broker = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=output, stderr=output)
    try:
        _await_broker(broker, f"{HOST}:{plain}", directory)
        yield SecureKafka(
            f"{HOST}:{login}",
            f"{HOST}:{mutual}",
            directory / "broker.pem",
            directory / "client.p12",
            directory / "client.pem",
            _client_key(directory),
        )
    finally:
        broker.terminate()
        broker.wait(PATIENCE_S)


def _make_certificate(directory: Path, name: str) -> None:
    """A key with a self-signed certificate: <name>.p12, and the certificate alone in <name>.pem."""
    keytool = find_java().path.resolve().with_name("keytool")
    store = ["-keystore", str(directory / f"{name}.p12"), "-storepass", STORE_PASSWORD, "-alias", name]
    make = ["-genkeypair", "-keyalg", "EC", "-dname", f"CN={name}", "-ext", f"SAN=ip:{HOST}", "-storetype", "PKCS12"]
    subprocess.run([keytool, *make, *store], check=True, capture_output=True)
    export = ["-exportcert", "-rfc", "-file", str(directory / f"{name}.pem")]
    subprocess.run([keytool, *export, *store], check=True, capture_output=True)


def _client_key(directory: Path) -> Path | None:
    if shutil.which("openssl") is None:
        return None
    key, store = directory / "client.key", directory / "client.p12"
    export = ["openssl", "pkcs12", "-in", str(store), "-passin", f"pass:{STORE_PASSWORD}", "-nocerts", "-nodes"]
    text = subprocess.run(export, check=True, capture_output=True, text=True).stdout
    key.write_text(text[text.index("-----BEGIN") :], encoding="utf-8")
    return key


def _secure_properties(directory: Path, plain: int, controller: int, login: int, mutual: int) -> str:
    """Lines that override those of the embedded broker: in a properties file the last one counts."""
    jaas_module = "org.apache.kafka.common.security"
    doors = f"SASL_SSL://{HOST}:{login},MUTUAL://{HOST}:{mutual}"
    properties = {
        "listeners": f"PLAINTEXT://{HOST}:{plain},CONTROLLER://{HOST}:{controller},{doors}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{plain},{doors}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,MUTUAL:SASL_SSL",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
        "ssl.keystore.type": "PKCS12",
        "ssl.keystore.location": directory / "broker.p12",
        "ssl.keystore.password": STORE_PASSWORD,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": directory / "client.pem",
        "listener.name.mutual.ssl.client.auth": "required",
    }
    for door in ("sasl_ssl", "mutual"):
        properties |= {
            f"listener.name.{door}.scram-sha-512.sasl.jaas.config": f"{jaas_module}.scram.ScramLoginModule required;",
            f"listener.name.{door}.plain.sasl.jaas.config": (
                f'{jaas_module}.plain.PlainLoginModule required user_{USER}="{_quoted(PASSWORD)}";'
            ),
        }
    return "".join(f"{name}={value}\n".replace("\\", "\\\\") for name, value in properties.items())


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _free_ports(number: int) -> list[int]:
    probes = [socket.create_server((HOST, 0)) for _ in range(number)]
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


def _await_broker(broker: subprocess.Popen[bytes], address: str, directory: Path) -> None:
    deadline_s = monotonic() + PATIENCE_S
    while not answers(address, timeout_s=0.5):
        assert broker.poll() is None, (directory / "output.log").read_text() + (directory / "broker.log").read_text()[-3000:]
        assert monotonic() < deadline_s


@pytest.fixture
def make_secure(make_project: Callable[[str], Project]) -> Callable[..., Project]:
    def make(name: str, address: str, properties: Properties) -> Project:
        project = make_project(name)
        lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in properties.items())
        project.configure(
            f'[kafka]\nbootstrap_servers = "{address}"\n[kafka.properties]\n{lines}\n'
            f'[pipelines.visits-log]\ntopics = {{ source = "{name}" }}\n'
        )
        return project

    return make


@pytest.mark.parametrize("words", [SecureKafka.in_pythons_words, SecureKafka.in_javas_words], ids=["python", "java"])
def test_python_and_spark_get_in_with_one_set_of_properties_and_no_secret_is_seen(
    secure: SecureKafka, words: Callable[[SecureKafka], Properties], make_secure: Callable[..., Project]
) -> None:
    topic = words.__name__
    project: Project = make_secure(topic, secure.mutual, words(secure))
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
    kept = [path.read_text(errors="replace") for path in (project.directory / ".anabranch").rglob("*") if path.is_file()]
    # With --debug Java's clients write all their settings into the log: they are there, and the secrets are not.
    assert any("sasl.jaas.config = [hidden]" in text for text in kept)
    told = [text for one in done for text in (one.stdout, one.stderr)]
    seen = "\n".join([*told, *running.out, *running.err, *commands, *kept])
    assert [secret for secret in secure.secrets() if secret in seen] == []


def _commands_while(running: Running) -> set[str]:
    """The command lines of all processes that it starts, and its own, as any user of the machine can see them."""
    seen: set[str] = set()
    while running.process.poll() is None:
        try:
            process = psutil.Process(running.process.pid)
            for one in (process, *process.children(recursive=True)):
                seen.add(" ".join(one.cmdline()))
        except psutil.Error:
            continue  # it has just ended
        try:
            running.process.wait(0.2)
        except subprocess.TimeoutExpired:
            continue
    return seen


def test_who_is_not_let_in_is_told_why_within_seconds_and_without_the_secrets(
    secure: SecureKafka, make_secure: Callable[..., Project]
) -> None:
    login = secure.login_in_pythons_words()
    wrong_password = make_secure("wrong-password", secure.login, {**login, "sasl.password": f"{PASSWORD}-wrong"})
    wrong_mechanism = make_secure("wrong-mechanism", secure.login, {**login, "sasl.mechanisms": "SCRAM-SHA-256"})
    wrong_authority = make_secure("wrong-authority", secure.login, {**login, "ssl.ca.location": str(secure.client_certificate)})
    no_certificate = make_secure("no-certificate", secure.mutual, login)
    wrong_store = make_secure(
        "wrong-store",
        secure.mutual,
        {**login, "ssl.keystore.location": str(secure.client_store), "ssl.keystore.password": f"{STORE_PASSWORD}-wrong"},
    )
    wrong_name = make_secure("wrong-name", secure.login, {**login, "sasl.pasword": PASSWORD})
    wrong_address = make_secure("wrong-address", f"{HOST}:1", login)
    no_entry, refused = "does not let us in: SASL", "refuses its properties"
    cases: list[tuple[Project, tuple[str, ...], int, str]] = [
        (wrong_password, ("--debug", "topics"), 1, no_entry),
        (wrong_password, ("topics", "create", "visits"), 1, no_entry),
        (wrong_password, ("consume", "visits"), 1, no_entry),
        (wrong_password, ("produce", "visits"), 1, no_entry),
        (wrong_password, ("run", "visits-log"), 1, no_entry),
        (wrong_password, ("generate", "--count", "1"), 1, "Kafka"),
        # In a project of its own: two runs at once in one would be refused for their lease.
        (wrong_mechanism, ("--debug", "run", "visits-log"), 1, "broker's supported mechanisms: SCRAM-SHA-512,PLAIN"),
        (wrong_authority, ("topics",), 1, "verify that ssl.ca.location is correctly configured"),
        (no_certificate, ("topics",), 1, "does not let us in: .*certificate"),
        (wrong_store, ("topics",), 2, f"{refused}.*PKCS#12"),
        (wrong_name, ("topics",), 2, f'{refused}: No such configuration property: "sasl.pasword"'),
        (wrong_address, ("--debug", "topics"), 1, f"Kafka at {HOST}:1 does not answer: .*Connection refused"),
    ]

    def attempt(case: tuple[Project, tuple[str, ...], int, str]) -> None:
        project, command, code, fact = case
        begun_s = monotonic()
        done = project(*command)
        assert monotonic() - begun_s < SECONDS, command
        assert (done.returncode, done.stdout) == (code, ""), (command, done.stderr)
        assert re.search(fact, done.stderr), (command, done.stderr)
        assert [secret for secret in secure.secrets() if secret in done.stderr] == [], command

    # They mostly wait: at once, in the time of the longest few.
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(attempt, cases))


def test_a_login_that_java_alone_gets_wrong_ends_the_run_with_the_reason(
    secure: SecureKafka, make_secure: Callable[..., Project]
) -> None:
    wrong = f'org.apache.kafka.common.security.scram.ScramLoginModule required username="{USER}" password="{CORE}-wrong";'
    project: Project = make_secure("java-alone", secure.login, {**secure.login_in_pythons_words(), "sasl.jaas.config": wrong})
    project.ok("topics", "create", "java-alone")
    done = project("run", "visits-log")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "Authentication failed" in done.stderr
    assert [secret for secret in secure.secrets() if secret in done.stderr] == []
