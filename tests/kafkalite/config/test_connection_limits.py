"""The limits of connections as configs. conformance/ asks Apache Kafka for the same answers."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.connection_limits import (
    MOST,
    OVERRIDES,
    PER_ADDRESS,
    RATE,
    address_overrides,
    check_addresses,
    check_change,
    has_rate,
    protected_listener,
)

TWO = {
    "listeners": "PLAINTEXT://127.0.0.1:0,ONE://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ONE:PLAINTEXT",
}
ONE = "listener.name.one."


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", {}),
        (",", {}),
        ("a:1", {"a": 1}),
        ("a : 1 , ::1:+2,", {"a": 1, "::1": 2}),
        ("a:1,a:2", {"a": 2}),
    ],
)
def test_limits_of_single_hosts(text: str, found: dict[str, int]) -> None:
    assert address_overrides(text) == found


@pytest.mark.parametrize(
    ("most", "text", "reason"),
    [
        (1, "x", f"Error parsing configuration property '{OVERRIDES}': begin 0, end -1, length 1"),
        (1, "a:1,,", None),
        (
            1,
            ",a:1",
            f"Error parsing configuration property '{OVERRIDES}': begin 0, end -1, length 0",
        ),
        (1, "a:x", 'For input string: "x"'),
        (1, "a:2147483648", 'For input string: "2147483648"'),
        (1, "a b:1,c d:1,e:1", f"{OVERRIDES} contains invalid addresses : a b,c d"),
        (
            0,
            ",",
            f"requirement failed: {PER_ADDRESS} can be set to zero only if {OVERRIDES} property is",
        ),
        (0, "a:1", None),
    ],
)
def test_limits_that_are_none(most: int, text: str, reason: str | None) -> None:
    if reason is None:
        check_addresses(most, text)
        return
    with pytest.raises(ConfigError) as refused:
        check_addresses(most, text)
    assert str(refused.value).startswith(reason)


def test_a_start_is_refused_with_the_name_of_the_config() -> None:
    with pytest.raises(ConfigError, match=rf'^{OVERRIDES}=a:x: For input string: "x"$'):
        BrokerConfig({OVERRIDES: "a:x"})
    with pytest.raises(ConfigError, match=f"^{OVERRIDES} contains invalid addresses : a b$"):
        BrokerConfig({OVERRIDES: "a b:1"})


@pytest.mark.parametrize("name", [MOST, RATE, f"{ONE}{MOST}", f"{ONE}{RATE}"])
def test_no_listener_is_closed_to_all_while_it_runs(name: str) -> None:
    with pytest.raises(ConfigError, match=r"Exception: Invalid max\.connection\S* 0 for config"):
        check_change({}, {name: "0"}, ["ONE"])
    # A listener's own limit counts before the node's.
    own = {f"{ONE}{MOST}": "1", f"{ONE}{RATE}": "1"}
    if not name.startswith(ONE):
        check_change(own, own | {name: "0"}, ["ONE"])
    # It was so from the start.
    check_change({name: "0"}, {name: "0", PER_ADDRESS: "5"}, ["ONE"])


def test_addresses_are_checked_in_a_change_too() -> None:
    with pytest.raises(ConfigError, match="requirement failed"):
        check_change({}, {PER_ADDRESS: "0"}, ["ONE"])


def test_the_listener_of_brokers() -> None:
    assert protected_listener(BrokerConfig({})) is None
    assert protected_listener(BrokerConfig(TWO)) == "PLAINTEXT"
    assert protected_listener(BrokerConfig(TWO | {"inter.broker.listener.name": "one"})) == "ONE"


def test_a_rate_of_a_node_or_a_listener() -> None:
    assert not has_rate(BrokerConfig(TWO))
    assert has_rate(BrokerConfig(TWO | {RATE: "1"}))
    config = BrokerConfig(TWO)
    config.set_dynamic(1, {f"{ONE}{RATE}": "1"})
    assert has_rate(config)
