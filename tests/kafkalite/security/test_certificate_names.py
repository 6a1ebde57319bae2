"""A key store of a running listener is replaced by one of the same names."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.certificate_names import check_names
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
