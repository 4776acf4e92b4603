"""Kafka client properties, from one place to two clients: librdkafka (Python) and Java (Spark).

A user writes either spelling; each client gets its own. Only where the two differ is there anything to do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from anabranch.core.errors import Misused

_JAAS_LOGIN = re.compile(r'username\s*=\s*"((?:[^"\\]|\\.)*)"\s+password\s*=\s*"((?:[^"\\]|\\.)*)"')
# Names that only one of the two knows; the other client would fail or warn on them.
_ONLY_PYTHON = (
    "ssl.ca.",
    "ssl.certificate.",
    "ssl.key.location",
    "ssl.key.pem",
    "sasl.username",
    "sasl.password",
    "sasl.mechanisms",
)
_ONLY_JAVA = ("ssl.truststore.", "ssl.keystore.", "sasl.jaas.config")

ReadText = Callable[[str], str]


def for_python(properties: Mapping[str, str]) -> dict[str, str]:
    """The properties as librdkafka knows them."""
    given = dict(properties)
    out = {name: value for name, value in given.items() if not name.startswith(_ONLY_JAVA)}
    if "sasl.mechanism" in out:
        out.setdefault("sasl.mechanisms", out.pop("sasl.mechanism"))
    if (jaas := given.get("sasl.jaas.config")) is not None and "sasl.username" not in out:
        login = _JAAS_LOGIN.search(jaas)
        if login is None:
            raise Misused(
                "kafka.properties: sasl.jaas.config has no username and password that the Python client could use.",
                "set sasl.username and sasl.password instead: Spark gets them too",
            )
        out["sasl.username"], out["sasl.password"] = (_unquote(part) for part in login.groups())
    if "ssl.ca.location" not in out and "ssl.ca.pem" not in out:
        out |= _authority_from_truststore(given)
    if "ssl.endpoint.identification.algorithm" in out:
        # Java's way to switch the check of the host's name off is an empty text.
        out["ssl.endpoint.identification.algorithm"] = out["ssl.endpoint.identification.algorithm"] or "none"
    return out


def for_java(properties: Mapping[str, str], read_text: ReadText) -> dict[str, str]:
    """The properties as Java's clients know them, without Spark's `kafka.` in front. Key files are read by `read_text`."""
    given = dict(properties)
    out = {name: value for name, value in given.items() if not name.startswith(_ONLY_PYTHON)}
    if "sasl.mechanisms" in given:
        out.setdefault("sasl.mechanism", given["sasl.mechanisms"])
    if "sasl.username" in given and "sasl.jaas.config" not in out:
        out["sasl.jaas.config"] = _jaas(
            out.get("sasl.mechanism", "PLAIN"), given["sasl.username"], given.get("sasl.password", "")
        )
    if "ssl.truststore.location" not in out and ("ssl.ca.location" in given or "ssl.ca.pem" in given):
        out["ssl.truststore.type"] = "PEM"
        out["ssl.truststore.certificates"] = given.get("ssl.ca.pem") or read_text(given["ssl.ca.location"])
    if "ssl.keystore.location" not in out and ("ssl.certificate.location" in given or "ssl.certificate.pem" in given):
        out["ssl.keystore.type"] = "PEM"
        out["ssl.keystore.certificate.chain"] = given.get("ssl.certificate.pem") or read_text(given["ssl.certificate.location"])
        out["ssl.keystore.key"] = given.get("ssl.key.pem") or read_text(given["ssl.key.location"])
    if out.get("ssl.endpoint.identification.algorithm") == "none":
        out["ssl.endpoint.identification.algorithm"] = ""
    return out


def _authority_from_truststore(given: Mapping[str, str]) -> dict[str, str]:
    if "ssl.truststore.certificates" in given:
        return {"ssl.ca.pem": given["ssl.truststore.certificates"]}
    if "ssl.truststore.location" not in given:
        return {}
    if given.get("ssl.truststore.type", "JKS").upper() != "PEM":
        raise Misused(
            "kafka.properties: ssl.truststore.location is a Java key store, which the Python client cannot read.",
            "export its certificates as PEM and set ssl.ca.location: Spark gets them too",
        )
    return {"ssl.ca.location": given["ssl.truststore.location"]}


def _jaas(mechanism: str, username: str, password: str) -> str:
    module = "scram.ScramLoginModule" if mechanism.upper().startswith("SCRAM") else "plain.PlainLoginModule"
    return f'org.apache.kafka.common.security.{module} required username="{_quote(username)}" password="{_quote(password)}";'


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)
