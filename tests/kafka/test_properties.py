"""One set of Kafka properties for two clients: what each of them gets from either spelling."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from confluent_kafka import Producer
from hypothesis import example, given
from hypothesis import strategies as st

from anabranch.errors import Misused
from anabranch.kafka.properties import for_java, for_python
from anabranch.project.kafka import cluster_of
from anabranch.project.project import Project, open_project
from anabranch.text.redact import HIDDEN, shown

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
KEY = "-----BEGIN PRIVATE KEY-----\nMIGH\n-----END PRIVATE KEY-----\n"
FILES = {
    "/ca.pem": "the CA",
    "/me.pem": "my certificate",
    "/me.key": KEY,
    "/pkcs1.key": "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----\n",
}
Properties = dict[str, str]


@pytest.mark.parametrize(
    ("given_properties", "python", "java"),
    [
        pytest.param({}, {}, {}, id="none"),
        pytest.param({"client.id": "me"}, {"client.id": "me"}, {"client.id": "me"}, id="the same in both"),
        pytest.param(
            {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"},
            {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"},
            {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": f'{SCRAM} username="u" password="p";'},
            id="a login, in librdkafka's spelling",
        ),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} username="u" password="p";'},
            {"sasl.mechanisms": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} username="u" password="p";'},
            id="a login, in Java's spelling",
        ),
        pytest.param(
            {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
            {"sasl.mechanisms": "PLAIN", "sasl.username": "u", "sasl.password": "p"},
            {"sasl.mechanism": "PLAIN", "sasl.jaas.config": f'{PLAIN} username="u" password="p";'},
            id="a login, mixed",
        ),
        pytest.param(
            {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "x required;", "sasl.login.callback.handler.class": "y"},
            {"sasl.mechanisms": "OAUTHBEARER"},
            {"sasl.mechanism": "OAUTHBEARER", "sasl.jaas.config": "x required;", "sasl.login.callback.handler.class": "y"},
            id="a login without a password",
        ),
        pytest.param(
            {"ssl.ca.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "the CA"},
            id="a CA, in librdkafka's spelling",
        ),
        pytest.param(
            {"ssl.ca.pem": "the CA"},
            {"ssl.ca.pem": "the CA"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "the CA"},
            id="a CA as PEM text",
        ),
        pytest.param({"ssl.ca.location": "probe"}, {"ssl.ca.location": "probe"}, {}, id="the system's CAs"),
        pytest.param(
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            id="a CA, in Java's spelling",
        ),
        pytest.param(
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "the CA"},
            {"ssl.ca.pem": "the CA"},
            {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "the CA"},
            id="a CA as PEM text, in Java's spelling",
        ),
        pytest.param(
            {"ssl.ca.location": "/ca.pem", "ssl.truststore.location": "/ca.jks", "ssl.truststore.password": "p"},
            {"ssl.ca.location": "/ca.pem"},
            {"ssl.truststore.location": "/ca.jks", "ssl.truststore.password": "p"},
            id="a CA for each client",
        ),
        pytest.param(
            {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.key", "ssl.key.password": "p"},
            {"ssl.certificate.location": "/me.pem", "ssl.key.location": "/me.key", "ssl.key.password": "p"},
            {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.certificate.chain": "my certificate",
                "ssl.keystore.key": KEY,
                "ssl.key.password": "p",
            },
            id="a client certificate, in librdkafka's spelling",
        ),
        pytest.param(
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/both.pem"},
            {"ssl.certificate.location": "/both.pem", "ssl.key.location": "/both.pem"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/both.pem"},
            id="a client certificate, in Java's spelling",
        ),
        pytest.param(
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "c", "ssl.keystore.key": KEY},
            {"ssl.certificate.pem": "c", "ssl.key.pem": KEY},
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "c", "ssl.keystore.key": KEY},
            id="a client certificate as PEM text",
        ),
        pytest.param(
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"},
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me.p12", "ssl.keystore.password": "p"},
            id="a client certificate in a store that both clients read",
        ),
        pytest.param(
            {"ssl.endpoint.identification.algorithm": ""},
            {"ssl.endpoint.identification.algorithm": "none"},
            {"ssl.endpoint.identification.algorithm": ""},
            id="no host name check, in Java's spelling",
        ),
        pytest.param(
            {"ssl.endpoint.identification.algorithm": "none"},
            {"ssl.endpoint.identification.algorithm": "none"},
            {"ssl.endpoint.identification.algorithm": ""},
            id="no host name check, in librdkafka's spelling",
        ),
    ],
)
def test_each_client_gets_its_own_spelling(given_properties: Properties, python: Properties, java: Properties) -> None:
    before = dict(given_properties)
    assert for_python(given_properties) == python
    assert for_java(given_properties, FILES.__getitem__) == java
    assert given_properties == before


@given(st.text(), st.text(), st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]))
@example('a"b', "c\\", "PLAIN")
@example('" password="x', "\\n\n\r\t;'", "PLAIN")
@example("username", "\\101 \0", "SCRAM-SHA-512")
def test_any_user_and_password_survive_the_translation_to_java_and_back(user: str, password: str, mechanism: str) -> None:
    login = {"sasl.mechanisms": mechanism, "sasl.username": user, "sasl.password": password}
    java = for_java(login, FILES.__getitem__)
    # Java's parser ends a quoted text at a line break.
    assert not {"\n", "\r"} & set(java["sasl.jaas.config"])
    assert for_python(java) == login


@pytest.mark.parametrize(
    "options",
    [
        'username="u" password="p"',
        'password="p" username="u"',
        "username='u'\n  password = 'p'",
        "username=u password=p",
        r'serviceName="kafka" username="\165" tokenauth="true" password="\p"',
        r"""debug='password="no"' username="u" password="p" """,
    ],
)
def test_a_jaas_login_is_parsed_as_java_parses_it(options: str) -> None:
    properties = {"sasl.mechanism": "SCRAM-SHA-512", "sasl.jaas.config": f"{SCRAM} {options};"}
    assert for_python(properties) == {"sasl.mechanisms": "SCRAM-SHA-512", "sasl.username": "u", "sasl.password": "p"}


@pytest.mark.parametrize(
    ("properties", "code", "remedy"),
    [
        ({"sasl.mechanism": "PLAIN", "sasl.jaas.config": 'x password="hunter2";'}, "jaas-without-login", "sasl.username"),
        ({"ssl.truststore.location": "/hunter2.jks"}, "truststore-not-pem", "ssl.ca.location"),
        ({"ssl.keystore.location": "/hunter2.jks", "ssl.keystore.type": "JKS"}, "keystore-not-readable", "PKCS12"),
        ({"ssl.certificate.location": "/me.pem", "ssl.key.password": "hunter2"}, "certificate-incomplete", "ssl.key.location"),
        ({"ssl.key.location": "/me.key", "ssl.key.password": "hunter2"}, "certificate-incomplete", "ssl.certificate.location"),
        ({"ssl.certificate.location": "/me.pem", "ssl.key.location": "/pkcs1.key"}, "key-not-pkcs8", "openssl pkcs8"),
    ],
)
def test_a_property_that_one_client_cannot_use_is_rejected_without_its_value(
    properties: Properties, code: str, remedy: str
) -> None:
    with pytest.raises(Misused) as error:
        _for_both(properties)
    assert error.value.code == code
    assert remedy in "".join(error.value.remedies)
    assert "hunter2" not in f"{error.value} {error.value.reason.as_json()}"


def _for_both(properties: Properties) -> None:
    for_java(properties, FILES.__getitem__)
    for_python(properties)


# Properties of Java's clients 3.9 and 4.3 for TLS and SASL, and a few others that users set.
JAVA_NAMES = """
    ssl.protocol ssl.enabled.protocols ssl.provider ssl.engine.factory.class ssl.secure.random.implementation
    ssl.keymanager.algorithm ssl.trustmanager.algorithm ssl.truststore.password ssl.truststore.type ssl.keystore.type
    security.providers sasl.client.callback.handler.class sasl.login.class sasl.login.callback.handler.class
    sasl.login.connect.timeout.ms sasl.login.refresh.window.factor sasl.login.retry.backoff.ms
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.oauthbearer.clock.skew.seconds
    sasl.oauthbearer.expected.audience sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
    sasl.oauthbearer.jwks.endpoint.url sasl.oauthbearer.jwt.retriever.class sasl.oauthbearer.scope.claim.name
    sasl.oauthbearer.assertion.template.file default.api.timeout.ms fetch.max.wait.ms receive.buffer.bytes
    send.buffer.bytes socket.connection.setup.timeout.max.ms metric.reporters metrics.num.samples config.providers
    client.id client.rack connections.max.idle.ms metadata.max.age.ms retry.backoff.ms request.timeout.ms
    sasl.kerberos.service.name sasl.oauthbearer.token.endpoint.url sasl.oauthbearer.scope ssl.key.password
"""


@pytest.mark.parametrize("name", JAVA_NAMES.split())
def test_librdkafka_starts_with_every_property_of_java(name: str) -> None:
    properties = {name: "1000"}
    Producer(for_python(properties), logger=logging.Logger("quiet", logging.CRITICAL))
    assert for_java(properties, FILES.__getitem__) == properties


@pytest.mark.parametrize(
    "name",
    [
        "sasl.password",
        "sasl.jaas.config",
        "ssl.key.password",
        "ssl.key.pem",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.password",
        "sasl.oauthbearer.client.secret",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.config",
        "fs.azure.account.key.mine",
        "fs.s3a.access.key",
        "fs.s3a.secret.key",
        "api_key",
        "basic.auth.user.info",
    ],
)
def test_every_property_that_can_hold_a_secret_is_hidden(name: str) -> None:
    assert shown(f"kafka.properties.{name}", "hunter2") == HIDDEN


@pytest.mark.parametrize("name", ["sasl.username", "ssl.key.location", "ssl.keystore.location", "ssl.ca.location", "key"])
def test_properties_that_help_to_find_a_mistake_are_shown(name: str) -> None:
    assert shown(f"kafka.properties.{name}", "/a/file") == "/a/file"


def _project(directory: Path, *properties: str) -> Path:
    directory.mkdir()
    lines = ["[kafka]", 'bootstrap_servers = "host:9093"', "[kafka.properties]", *properties]
    (directory / "anabranch.toml").write_text("\n".join(lines), encoding="utf-8")
    return directory


def _open(directory: Path) -> Project:
    return open_project(directory, lambda _migrated: None)


def test_file_names_are_relative_to_the_project_for_both_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = _project(tmp_path / "project", 'ssl.ca.location = "ca.pem"', 'ssl.keystore.location = "/abs/me.p12"')
    (project / "ca.pem").write_text("the CA")
    monkeypatch.chdir(tmp_path)
    kafka = cluster_of(_open(Path("project")))
    assert kafka.for_python == {
        "bootstrap.servers": "host:9093",
        "ssl.ca.location": str(project / "ca.pem"),
        "ssl.keystore.location": "/abs/me.p12",
    }
    assert kafka.for_java == {
        "bootstrap.servers": "host:9093",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "the CA",
        "ssl.keystore.location": "/abs/me.p12",
    }


def test_an_unusable_file_is_an_error_with_its_name_and_the_reason(tmp_path: Path) -> None:
    project = _project(tmp_path / "project", 'ssl.ca.location = "ca.pem"')
    with pytest.raises(Misused) as error:
        cluster_of(_open(project))
    assert error.value.code == "key-file-unreadable"
    assert error.value.reason.params == {"file": str(project / "ca.pem"), "reason": "No such file or directory"}
    (project / "ca.pem").write_bytes(b"\xfe\xed\xfe\xed a Java key store")
    with pytest.raises(Misused) as error:
        cluster_of(_open(project))
    assert (error.value.code, error.value.reason.params) == ("key-file-not-pem", {"file": str(project / "ca.pem")})


def test_no_repr_contains_a_password(tmp_path: Path) -> None:
    login = ['sasl.mechanisms = "PLAIN"', 'sasl.username = "u"', 'sasl.password = "hunter2"']
    project = _open(_project(tmp_path / "project", *login))
    kafka = cluster_of(project)
    assert "hunter2" in kafka.for_java["sasl.jaas.config"]
    assert "hunter2" not in f"{kafka!r} {project!r} {project.settings!r} {list(project.loaded.in_force())}"
