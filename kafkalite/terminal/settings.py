"""Settings of the client: -X NAME=VALUE, and files of properties (-F).

The words are librdkafka's. In a file Java's words for security are understood, too, so that
the file that kafka-topics.sh takes by --command-config does here as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import click
import javaproperties

_LOGIN: Final = re.compile(r"([\w.]+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|([^\s;]+))")
# Java's words by librdkafka's, with the value unchanged.
_RENAMED: Final[Mapping[str, str]] = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
}
# Words of Java's clients that say nothing to librdkafka.
_JAVA_ONLY: Final = re.compile(
    r"(key|value)\.(de)?serializer.*|default\.api\.timeout\.ms|.*callback\.handler\.class"
    r"|ssl\.(truststore|keystore)\.type|ssl\.truststore\.password"
)


def parsed(settings: Iterable[str]) -> dict[str, str]:
    """The settings of -X. Raises click.UsageError."""
    found: dict[str, str] = {}
    for text in settings:
        name, is_there, value = text.partition("=")
        if not name or not is_there:
            raise click.UsageError(f"-X {text}: it is NAME=VALUE, for instance -X debug=protocol")
        found[name] = value
    return found


def read_file(path: Path) -> dict[str, str]:
    """The settings in a file of properties: Latin-1, as for Java. Raises click.UsageError."""
    try:
        properties = javaproperties.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise click.UsageError(f"-F {path} cannot be read: {reason}") from None
    return translated(properties, str(path))


def translated(properties: Mapping[str, str], source: str) -> dict[str, str]:
    """Properties in librdkafka's words. Raises click.UsageError where there is none."""
    found: dict[str, str] = {}
    for name, value in properties.items():
        if name == "sasl.jaas.config":
            found |= _login(value)
        elif name == "ssl.truststore.location":
            found["ssl.ca.location"] = _pem(name, value, properties, source)
        elif name == "ssl.keystore.location":
            found |= _keystore(value, properties, source)
        elif name == "ssl.endpoint.identification.algorithm":
            found[name] = value or "none"
        elif not _JAVA_ONLY.fullmatch(name):
            found[_RENAMED.get(name, name)] = value
    return found


def _login(text: str) -> dict[str, str]:
    """User and password of a JAAS line, or the name that an unsigned token bears."""
    said = {
        name: re.sub(r"\\(.)", r"\1", quoted) if quoted else plain
        for name, quoted, plain in _LOGIN.findall(text)
    }
    found = {
        theirs: said[ours]
        for ours, theirs in (("username", "sasl.username"), ("password", "sasl.password"))
        if ours in said
    }
    if "unsecuredLoginStringClaim_sub" in said:
        found["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
        found["sasl.oauthbearer.config"] = f"principal={said['unsecuredLoginStringClaim_sub']}"
    return found


def _pem(name: str, value: str, properties: Mapping[str, str], source: str) -> str:
    kind = properties.get(name.replace("location", "type"), "JKS").upper()
    if kind != "PEM":
        raise click.UsageError(
            f"{source}: {name} is a store of type {kind}, which only Java reads: export it as "
            "PEM, and say ssl.ca.location=FILE"
        )
    return value


def _keystore(value: str, properties: Mapping[str, str], source: str) -> dict[str, str]:
    if properties.get("ssl.keystore.type", "").upper() == "PKCS12":
        return {"ssl.keystore.location": value}
    pem = _pem("ssl.keystore.location", value, properties, source)
    return {"ssl.certificate.location": pem, "ssl.key.location": pem}
