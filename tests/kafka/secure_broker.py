"""A Kafka broker that requires a login and TLS, with certificates made for the test."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from anabranch.kafka.admin import answers
from anabranch.kafka.embedded.configuration import HOST, log_configuration, server_properties
from anabranch.spark.jars import ensure_jars
from anabranch.spark.java import find_java
from tests.support.harness import PATIENCE_S

USER = "alice"
# The part of the password that must not appear anywhere; the characters after it are those that quoting gets wrong.
PASSWORD_CORE = "Sup3rWort"
PASSWORD = f"{PASSWORD_CORE} \"x\\y'; ="
STORE_PASSWORD = "st0reW0rt"
_LOGIN_MODULES = "org.apache.kafka.common.security"


@dataclass(frozen=True)
class SecureKafka:
    """One broker with two listeners: `login` requires a password, `mutual` requires a client certificate as well."""

    login: str
    mutual: str
    # The broker's certificate is self-signed. The client's is in a store with its key, and alone as PEM.
    ca: Path
    client_store: Path
    client_certificate: Path
    # Java's own tools do not write keys as PEM: None if there is no openssl to do it.
    client_key: Path | None

    def in_librdkafka_spelling(self) -> dict[str, str]:
        key = {"ssl.certificate.location": str(self.client_certificate), "ssl.key.location": str(self.client_key)}
        store = {"ssl.keystore.location": str(self.client_store), "ssl.keystore.password": STORE_PASSWORD}
        return {**self.login_properties(), **(key if self.client_key else store)}

    def login_properties(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.ca),
        }

    def in_java_spelling(self) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": (
                f'{_LOGIN_MODULES}.plain.PlainLoginModule required\n  username="{USER}"\n  password="{_quoted(PASSWORD)}";'
            ),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
            "ssl.keystore.type": "PKCS12",
            "ssl.keystore.location": str(self.client_store),
            "ssl.keystore.password": STORE_PASSWORD,
        }

    def secrets_in(self, text: str) -> list[str]:
        """The secrets that appear in a text: of the password and of the key a part that no quoting changes."""
        key = [self.client_key.read_text().split("-----")[2].split()[0]] if self.client_key else []
        return [secret for secret in (PASSWORD_CORE, STORE_PASSWORD, *key) if secret in text]


@contextmanager
def running_secure_broker(directory: Path) -> Iterator[SecureKafka]:
    with ThreadPoolExecutor() as both:
        list(both.map(lambda name: _make_certificate(directory, name), ("broker", "client")))
    plain, controller, login, mutual = _free_ports(4)
    properties = server_properties(plain, controller, directory / "data")
    properties += _secure_properties(directory, plain, controller, login, mutual)
    broker = _start(directory, properties)
    try:
        _await_answer(broker, f"{HOST}:{plain}", directory)
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


def _start(directory: Path, properties: str) -> subprocess.Popen[bytes]:
    properties_file = directory / "server.properties"
    properties_file.write_text(properties, encoding="utf-8")
    (directory / "log4j2.properties").write_text(log_configuration(directory / "broker.log"), encoding="utf-8")
    java = [
        *(str(find_java().path), "-Xmx512m", "-cp", os.pathsep.join(map(str, ensure_jars("broker")))),
        f"-Dlog4j2.configurationFile={directory / 'log4j2.properties'}",
    ]
    options = ["-t", "YW5hYnJhbmNoLXNlY3VyZQ", "-c", str(properties_file)]
    scram = ["--add-scram", f'SCRAM-SHA-512=[name="{USER}",password="{PASSWORD}"]']
    format_command = [*java, "kafka.tools.StorageTool", "format", *options, *scram]
    done = subprocess.run(format_command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    with (directory / "output.log").open("wb") as output:
        return subprocess.Popen([*java, "kafka.Kafka", str(properties_file)], stdout=output, stderr=output)


def _make_certificate(directory: Path, name: str) -> None:
    """A key with a self-signed certificate in <name>.p12, and the certificate alone in <name>.pem."""
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
    """Lines that override those of the embedded broker: in a properties file the last value counts."""
    secure = f"SASL_SSL://{HOST}:{login},MUTUAL://{HOST}:{mutual}"
    properties = {
        "listeners": f"PLAINTEXT://{HOST}:{plain},CONTROLLER://{HOST}:{controller},{secure}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{plain},{secure}",
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
    for listener in ("sasl_ssl", "mutual"):
        properties |= {
            f"listener.name.{listener}.scram-sha-512.sasl.jaas.config": f"{_LOGIN_MODULES}.scram.ScramLoginModule required;",
            f"listener.name.{listener}.plain.sasl.jaas.config": (
                f'{_LOGIN_MODULES}.plain.PlainLoginModule required user_{USER}="{_quoted(PASSWORD)}";'
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


def _await_answer(broker: subprocess.Popen[bytes], address: str, directory: Path) -> None:
    deadline_s = monotonic() + PATIENCE_S
    while not answers(address, timeout_s=0.5):
        assert broker.poll() is None, (directory / "output.log").read_text() + (directory / "broker.log").read_text()[-3000:]
        assert monotonic() < deadline_s
