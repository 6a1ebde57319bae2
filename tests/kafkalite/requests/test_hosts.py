"""Addresses are written as Java writes them."""

import pytest

from kafkalite.requests.hosts import host_text


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
