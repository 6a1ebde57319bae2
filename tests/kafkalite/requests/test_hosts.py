"""Addresses are written as Java writes them."""

import socket
from typing import Any

import pytest

from kafkalite.requests.hosts import addresses_of, host_text, is_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a:0:ff", "2001:db8:0:0:0:a:0:ff"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("::ffff:1:2", "0:0:0:0:0:ffff:1:2"),
        ("no:address", "no:address"),
        ("", ""),
    ],
)
def test_as_java_writes_them(address: str, expected: str) -> None:
    assert host_text(address) == expected


@pytest.mark.parametrize(
    ("host", "is_one"), [("127.0.0.1", True), ("::1", True), ("localhost", False), ("", False)]
)
def test_an_address_is_no_name(host: str, is_one: bool) -> None:
    assert is_address(host) is is_one


def test_the_first_address_counts_of_ipv4_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {
        ("both", socket.AF_INET): "10.0.0.1",
        ("both", socket.AF_INET6): "::2",
        ("new", socket.AF_INET6): "::1",
    }

    def getaddrinfo(host: str, port: None, family: int) -> list[Any]:
        if (host, family) not in known:
            raise socket.gaierror
        return [(family, 0, 0, "", (known[host, family], 0)), (family, 0, 0, "", ("10.0.0.9", 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert addresses_of(["both", "new", "none"]) == {
        "both": "10.0.0.1",
        "new": "0:0:0:0:0:0:0:1",
        "none": "",
    }
