"""A key store of a running listener is replaced by one of the same names."""

from __future__ import annotations

import contextlib
import ssl

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.certificate_names import check_names
from kafkalite.security.key_stores import StoreError
from kafkalite.security.tls import distinguished_name
from tests.kafkalite.security.certificates import Authority

AUTHORITY = Authority()
BEFORE = AUTHORITY.server("127.0.0.1", "a.example", name="one").certificate
DN = "ssl.allow.dn.changes"
SAN = "ssl.allow.san.changes"


def configs(*allowed: str) -> ListenerConfigs:
    return ListenerConfigs(BrokerConfig(dict.fromkeys(allowed, "true")), "SSL", 1)


@pytest.mark.parametrize(
    ("hosts", "name", "allowed", "sentence"),
    [
        (["127.0.0.1", "a.example"], "one", [], None),
        (["a.example", "127.0.0.1", "b.example"], "one", [], None),
        (["127.0.0.1", "a.example"], "ONE", [], None),
        (["127.0.0.1", "a.example"], "other", [], "DistinguishedName does not match: .*CN=one.*CN"),
        (["127.0.0.1", "a.example"], "other", [DN], None),
        (["127.0.0.1"], "one", [], r"SubjectAltNames do not match: .*\[2, a.example\]"),
        (["127.0.0.1"], "one", [DN], "SubjectAltNames do not match"),
        (["127.0.0.1"], "one", [SAN], None),
        (["b.example"], "other", [SAN], "DistinguishedName"),
        (["b.example"], "other", [DN, SAN], None),
    ],
)
def test_names(hosts: list[str], name: str, allowed: list[str], sentence: str | None) -> None:
    after = AUTHORITY.server(*hosts, name=name).certificate
    if sentence is None:
        check_names(BEFORE, after, configs(*allowed))
    else:
        with pytest.raises(ConfigError, match=sentence):
            check_names(BEFORE, after, configs(*allowed))


def test_a_listener_has_rules_of_its_own() -> None:
    named = {"listeners": "SSL://127.0.0.1:0", f"listener.name.ssl.{DN}": "true"}
    own = ListenerConfigs(BrokerConfig(named), "SSL", 1)
    check_names(BEFORE, AUTHORITY.server("127.0.0.1", "a.example", name="other").certificate, own)


DER = ssl.PEM_cert_to_DER_cert(BEFORE)
_DNS_NAME = b"\x82\x09a.example"


def instead(old: bytes, new: bytes) -> tuple[int, bytes]:
    assert old in DER
    return DER.index(old), new


# The library has another exception for each kind of nonsense.
@pytest.mark.filterwarnings("ignore:Attribute's length:UserWarning", "ignore:Parsed a serial")
@example([instead(b"\xa0\x03\x02\x01\x02", b"\xa0\x03\x02\x01\x05")])  # a version
@example([instead(b"\x55\x1d\x11", b"\x55\x1d\x13")])  # an extension twice
@example([instead(_DNS_NAME, b"\xa3\x09a.example")])  # a name of another kind
@example([instead(_DNS_NAME, b"\x82\x09a.exampl\xff")])
@given(
    st.lists(
        st.tuples(st.integers(0, len(DER) - 1), st.binary(min_size=1, max_size=5)),
        min_size=1,
        max_size=4,
    )
)
def test_no_certificate_does_anything_but_parse_or_be_refused(
    changes: list[tuple[int, bytes]],
) -> None:
    changed = bytearray(DER)
    for position, data in changes:
        changed[position : position + len(data)] = data
    with contextlib.suppress(StoreError):
        distinguished_name(bytes(changed))
    with contextlib.suppress(ConfigError):
        check_names(BEFORE, ssl.DER_cert_to_PEM_cert(bytes(changed)), configs(DN))
