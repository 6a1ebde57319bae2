"""Settings in librdkafka's words and in Java's."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from kafkalite.security.quick_start import Files, client_settings, wanted
from kafkalite.terminal.settings import parsed, read_file, translated

FILES = Files(Path("ca.pem"), Path("server.pem"), Path("client.pem"))


def test_settings_of_the_command_line() -> None:
    assert parsed(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    for wrong in ("a", "=1"):
        with pytest.raises(click.UsageError, match="NAME=VALUE"):
            parsed([wrong])


@pytest.mark.parametrize(
    ("logins", "tls"),
    [
        (["plain:alice:secret"], None),
        (['scram-sha-256:alice:se"cr\\et;'], "auto"),
        (["oauthbearer:alice:x"], None),
        ([], "auto"),
    ],
)
def test_the_settings_of_java_mean_the_same(logins: list[str], tls: str | None) -> None:
    """kafkalite tells both in its ready file."""
    asked = wanted(logins, tls, acls=False)
    told = client_settings(asked, FILES if tls else None)
    assert translated(told["java"], "f") == told["librdkafka"]


def test_the_words_of_java_that_have_others_here() -> None:
    assert translated(
        {
            "ssl.truststore.certificates": "CA",
            "ssl.keystore.certificate.chain": "CHAIN",
            "ssl.keystore.key": "KEY",
            "ssl.endpoint.identification.algorithm": "",
            "key.deserializer": "org.apache.kafka.StringDeserializer",
            "request.timeout.ms": "100",
        },
        "f",
    ) == {
        "ssl.ca.pem": "CA",
        "ssl.certificate.pem": "CHAIN",
        "ssl.key.pem": "KEY",
        "ssl.endpoint.identification.algorithm": "none",
        "request.timeout.ms": "100",
    }
    store = {"ssl.keystore.location": "k.p12", "ssl.keystore.type": "PKCS12"}
    assert translated(store, "f") == {"ssl.keystore.location": "k.p12"}


@pytest.mark.parametrize("name", ["ssl.truststore.location", "ssl.keystore.location"])
def test_a_store_that_only_java_reads_is_refused(name: str) -> None:
    with pytest.raises(click.UsageError, match=f"f: {name} is a store of type JKS"):
        translated({name: "x.jks"}, "f")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("# of mine\nbootstrap.servers = h:1\nsecurity.protocol: SSL\n")
    assert read_file(path) == {"bootstrap.servers": "h:1", "security.protocol": "SSL"}
    path.write_bytes(b"sasl.username=J\xfcrgen\nsasl.password=\\u20ac\n")
    assert read_file(path) == {"sasl.username": "Jürgen", "sasl.password": "€"}
    path.write_text(r"a=\u12")
    with pytest.raises(click.UsageError, match="cannot be read"):
        read_file(path)
