"""Kafka client properties: one set from the user, one dialect for each client, librdkafka (Python) and Java (Spark).

A user may write either spelling, or both. A client gets its own spelling as the user wrote it; only what is missing there is
translated from the other one. Neither spelling can replace the other: Java's alone can name a login module and its options,
callback classes and JKS stores, librdkafka's alone can name separate key files and the system's certificates.
A property that a client cannot use is rejected by its name. Values are never in a message: they may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from anabranch.kafka.messages import (
    CERTIFICATE_INCOMPLETE,
    JAAS_WITHOUT_LOGIN,
    KEY_NOT_PKCS8,
    KEYSTORE_NOT_READABLE,
    TRUSTSTORE_NOT_PEM,
)

# Names that only librdkafka knows. Java ignores them, with a warning in its log.
_ONLY_PYTHON = (
    "ssl.ca.",
    "ssl.certificate.",
    "ssl.key.location",
    "ssl.key.pem",
    "sasl.username",
    "sasl.password",
    "sasl.mechanisms",
)
# Names that only Java knows. librdkafka 2.16 does not start if one of them is set.
_ONLY_JAVA = (
    *("ssl.truststore.", "ssl.keystore.", "sasl.jaas.config"),
    *("ssl.protocol", "ssl.enabled.protocols", "ssl.provider", "ssl.engine.", "ssl.secure.random.", "security.providers"),
    *("ssl.keymanager.", "ssl.trustmanager."),
    *("sasl.login.", "sasl.client.callback.", "sasl.kerberos.ticket."),
    *("sasl.oauthbearer.jwks.", "sasl.oauthbearer.jwt.", "sasl.oauthbearer.expected.", "sasl.oauthbearer.clock."),
    *("sasl.oauthbearer.header.", "sasl.oauthbearer.scope.claim.", "sasl.oauthbearer.assertion.template."),
    *("default.api.timeout.ms", "fetch.max.wait.ms", "receive.buffer.bytes", "send.buffer.bytes"),
    *("socket.connection.setup.timeout.max.ms", "metric.reporters", "metrics.", "config.providers"),
)

# One `name = value` of a JAAS entry, as Java's StreamTokenizer reads it: in double quotes, in single quotes, or bare.
_JAAS_OPTION = re.compile(r"""(\w+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([^\s;"']+))""")
_JAAS_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)")
_JAAS_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
# The only key format that Java reads from PEM; librdkafka reads others too.
_PKCS8 = re.compile(r"-----BEGIN (ENCRYPTED )?PRIVATE KEY-----")
# librdkafka's value for "use the system's certificates". Java uses its own certificates if no trust store is set.
PROBE = "probe"

ReadText = Callable[[str], str]


def for_python(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties in librdkafka's spelling."""
    given = dict(properties)
    out = {name: value for name, value in given.items() if not name.startswith(_ONLY_JAVA)}
    if "sasl.mechanism" in out:
        out.setdefault("sasl.mechanisms", out.pop("sasl.mechanism"))
    if "sasl.username" not in out:
        out |= _login_from_jaas(given, out.get("sasl.mechanisms", ""))
    if "ssl.ca.location" not in out and "ssl.ca.pem" not in out:
        out |= _authority_from_truststore(given)
    if "ssl.certificate.location" not in out and "ssl.certificate.pem" not in out:
        out |= _certificate_from_keystore(given)
    if "ssl.endpoint.identification.algorithm" in out:
        # Java switches host name verification off by an empty value.
        out["ssl.endpoint.identification.algorithm"] = out["ssl.endpoint.identification.algorithm"] or "none"
    return out


def for_java(properties: Mapping[str, str], read_text: ReadText) -> dict[str, str]:
    """The properties in Java's spelling, without Spark's `kafka.` prefix. `read_text` reads key files."""
    given = dict(properties)
    out = {name: value for name, value in given.items() if not name.startswith(_ONLY_PYTHON)}
    if "sasl.mechanisms" in given:
        out.setdefault("sasl.mechanism", given["sasl.mechanisms"])
    if "sasl.username" in given and "sasl.jaas.config" not in out:
        out["sasl.jaas.config"] = _jaas(
            out.get("sasl.mechanism", "PLAIN"), given["sasl.username"], given.get("sasl.password", "")
        )
    if not out.keys() & {"ssl.truststore.location", "ssl.truststore.certificates"}:
        out |= _truststore(given, read_text)
    if not out.keys() & {"ssl.keystore.location", "ssl.keystore.key"}:
        out |= _keystore(given, read_text)
    if out.get("ssl.endpoint.identification.algorithm") == "none":
        out["ssl.endpoint.identification.algorithm"] = ""
    return out


def _login_from_jaas(given: Mapping[str, str], mechanism: str) -> dict[str, str]:
    jaas = given.get("sasl.jaas.config")
    # The other mechanisms have no password, and librdkafka has separate settings for them.
    if jaas is None or not mechanism.upper().startswith(("PLAIN", "SCRAM")):
        return {}
    options = {name: _jaas_value(*values) for name, *values in _JAAS_OPTION.findall(jaas)}
    if "username" not in options or "password" not in options:
        raise JAAS_WITHOUT_LOGIN()
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _authority_from_truststore(given: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.certificates" in given:
        return {"ssl.ca.pem": given["ssl.truststore.certificates"]}
    if "ssl.truststore.location" not in given:
        return {}
    if given.get("ssl.truststore.type", "JKS").upper() != "PEM":
        raise TRUSTSTORE_NOT_PEM()
    return {"ssl.ca.location": given["ssl.truststore.location"]}


def _certificate_from_keystore(given: Mapping[str, str]) -> dict[str, str]:
    if "ssl.keystore.key" in given:
        return {
            "ssl.key.pem": given["ssl.keystore.key"],
            "ssl.certificate.pem": given.get("ssl.keystore.certificate.chain", ""),
        }
    location = given.get("ssl.keystore.location")
    if location is None:
        return {}
    match given.get("ssl.keystore.type", "PKCS12").upper():
        case "PEM":
            return {"ssl.certificate.location": location, "ssl.key.location": location}
        # Both clients read it, under the same names. It is librdkafka's only type, and Java accepts it without a type.
        case "PKCS12":
            return {name: given[name] for name in ("ssl.keystore.location", "ssl.keystore.password") if name in given}
    raise KEYSTORE_NOT_READABLE()


def _truststore(given: Mapping[str, str], read_text: ReadText) -> dict[str, str]:
    certificates = _pem(given, "ssl.ca", read_text)
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": certificates} if certificates else {}


def _keystore(given: Mapping[str, str], read_text: ReadText) -> dict[str, str]:
    chain, key = _pem(given, "ssl.certificate", read_text), _pem(given, "ssl.key", read_text)
    if chain is None and key is None:
        return {}
    if chain is None or key is None:
        raise CERTIFICATE_INCOMPLETE()
    if not _PKCS8.search(key):
        raise KEY_NOT_PKCS8()
    return {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": chain, "ssl.keystore.key": key}


def _pem(given: Mapping[str, str], name: str, read_text: ReadText) -> str | None:
    """The PEM text, given directly or read from its file."""
    location = given.get(f"{name}.location")
    if (text := given.get(f"{name}.pem")) or location is None or location == PROBE:
        return text
    return read_text(location)


def _jaas(mechanism: str, username: str, password: str) -> str:
    module = "scram.ScramLoginModule" if mechanism.upper().startswith("SCRAM") else "plain.PlainLoginModule"
    return f'org.apache.kafka.common.security.{module} required username="{_quote(username)}" password="{_quote(password)}";'


def _quote(text: str) -> str:
    # A line break would end the quoted text.
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")


def _jaas_value(double_quoted: str, single_quoted: str, bare: str) -> str:
    return bare or _JAAS_ESCAPE.sub(lambda escape: _unescaped(escape[1]), double_quoted or single_quoted)


def _unescaped(code: str) -> str:
    return chr(int(code, 8)) if code[0] in "01234567" else _JAAS_ESCAPED.get(code, code)
