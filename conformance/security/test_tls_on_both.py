"""TLS versions and cipher suites: both brokers choose the same, and refuse the same."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from conformance.security.pair import Client, Secured

OLD, NEW = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3
REFUSED = "refused"
# In OpenSSL's words; the brokers' keys are of ECDSA, or of RSA at two listeners. Without any: those
# that a client has anyway.
SUITES = (
    "",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES256-SHA384",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-RSA-AES256-SHA",
    "DHE-RSA-AES128-GCM-SHA256",
    "DHE-RSA-AES256-GCM-SHA384",
    "DHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-SHA256",
    "AES128-SHA",
    "AES128-SHA:DHE-RSA-AES256-GCM-SHA384:AES128-GCM-SHA256",
    "AES256-GCM-SHA384:AES256-SHA",
)


def shaken(broker: Secured, listener: str, versions: tuple[int, int], suites: str) -> object:
    """The version and the suite that a client of these comes to."""
    context = ssl.create_default_context(cafile=str(Path(broker.directory) / "authority.pem"))
    context.minimum_version, context.maximum_version = map(ssl.TLSVersion, versions)
    if suites:
        context.set_ciphers(suites)
    client = Client(broker.address(listener))
    try:
        with context.wrap_socket(client.socket, server_hostname="127.0.0.1") as connection:
            chosen = connection.cipher()
            return connection.version(), chosen and chosen[0]
    except (ssl.SSLError, ConnectionError):
        return REFUSED


@pytest.mark.parametrize("listener", ["SSL", "SUITES", "OLDER", "NEWER", "RSA", "EXCHANGE"])
def test_versions_and_suites(secured: tuple[Secured, Secured], listener: str) -> None:
    clients = [((NEW, NEW), ""), ((OLD, NEW), ""), *(((OLD, OLD), each) for each in SUITES)]
    told = [
        {
            f"{versions} {suites}": shaken(broker, listener, versions, suites)
            for versions, suites in clients
        }
        for broker in secured
    ]
    theirs, ours = told
    assert ours == theirs
    assert REFUSED in theirs.values()
    assert set(theirs.values()) != {REFUSED}
