"""A connection for our own messages gets in where librdkafka does, with the same settings."""

from __future__ import annotations

import socket
import ssl
import threading
from contextlib import closing

import pytest

from kafkalite.terminal.connection import BrokerGone, Connection, UnknownSetting, tls_context
from kafkalite.testing import broker
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest


def connected(running: broker, **other: str) -> Connection:
    host, _, port = running.bootstrap.rpartition(":")
    settings = {name.replace("_", "."): value for name, value in other.items()}
    return Connection(host, int(port), {**running.client_settings["librdkafka"], **settings})


@pytest.mark.parametrize(
    ("sasl", "tls"),
    [
        ("plain:alice:secret", None),
        ("scram-sha-256:alice:secret", "auto"),
        ("scram-sha-512:alice:secret", None),
        ("oauthbearer:alice:x", None),
        ("", "auto"),
    ],
)
def test_it_gets_in(sasl: str, tls: str | None) -> None:
    with broker(sasl=sasl or (), tls=tls, profile="test") as running:
        with closing(connected(running)) as connection:
            assert connection.ask(DescribeClusterRequest()).cluster_id == running.cluster_id
        if "secret" in sasl:
            with pytest.raises(BrokerGone, match=r"(?i)authentication failed|invalid"):
                connected(running, sasl_password="wrong")
            with pytest.raises(BrokerGone, match="UNSUPPORTED_SASL_MECHANISM"):
                connected(running, sasl_mechanism="OAUTHBEARER", **_UNSIGNED)


_UNSIGNED = {
    "enable_sasl_oauthbearer_unsecure_jwt": "true",
    "sasl_oauthbearer_config": "principal=alice",
}


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    with broker(tls="auto", profile="test") as running:
        with pytest.raises(BrokerGone, match="CERTIFICATE_VERIFY_FAILED"):
            connected(running, ssl_ca_location="probe")
        unverified = {"enable_ssl_certificate_verification": "false"}
        with closing(connected(running, ssl_ca_location="probe", **unverified)) as connection:
            assert connection.ask(DescribeClusterRequest()).error_code == 0


def test_settings_of_tls() -> None:
    assert tls_context({}).check_hostname
    unnamed = tls_context({"ssl.endpoint.identification.algorithm": "none"})
    assert (unnamed.check_hostname, unnamed.verify_mode) == (False, ssl.CERT_REQUIRED)
    with pytest.raises(UnknownSetting, match=r"ssl\.keystore\.location"):
        tls_context({"ssl.keystore.location": "client.p12"})
    with pytest.raises(BrokerGone, match="TLS"):
        tls_context({"ssl.ca.location": "/no/such/file"})


def test_a_broker_that_is_gone_or_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = threading.Thread(target=lambda: closing(server.accept()[0]).__exit__())
        thread.start()
        with pytest.raises(BrokerGone, match=f"127.0.0.1:{port}"):
            Connection("127.0.0.1", port, {})
        thread.join()
    with pytest.raises(BrokerGone, match="refused"):
        Connection("127.0.0.1", port, {})
