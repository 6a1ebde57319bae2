"""Clients' addresses, as Java's InetAddress.toString gives them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kafkalite.group_coordinator.callers import shown_host


@dataclass
class Client:
    client_host: str
    api_version: int = 0
    client_id: str = ""
    may_describe: None = None


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "/127.0.0.1"),
        ("fe80:0:0:0:0:0:0:1%eth0", "/fe80:0:0:0:0:0:0:1%eth0"),
    ],
)
def test_addresses(host: str, shown: str) -> None:
    assert shown_host(Client(host)) == shown
