"""The pace of accepting: a node's and its listeners', by Kafka's windows."""

from __future__ import annotations

from kafkalite.config import BrokerConfig
from kafkalite.security.accept_rates import AcceptRates

RATE = "max.connection.creation.rate"
LISTENERS = {
    "listeners": "PLAINTEXT://127.0.0.1:0,ONE://127.0.0.1:0,OTHER://127.0.0.1:0",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,ONE:PLAINTEXT,OTHER:PLAINTEXT",
}


def rates(**configs: str) -> AcceptRates:
    return AcceptRates(BrokerConfig(LISTENERS | configs))


def waits(made: AcceptRates, listener: str, count: int) -> list[int]:
    return [made.wait_ms(1, listener, 0) for _ in range(count)]


def test_a_window_s_connections_are_free() -> None:
    """Two a second are twenty in the ten seconds of Kafka's windows."""
    made = rates(**{RATE: "2"})
    assert waits(made, "ONE", 20) == [0] * 20
    assert waits(made, "ONE", 2) == [500, 1000]
    # Never longer than a window.
    assert waits(made, "ONE", 2) == [1000, 1000]
    assert made.wait_ms(1, "ONE", 20_000) == 0


def test_listeners_of_a_node_share_its_pace() -> None:
    made = rates(**{RATE: "1"})
    assert waits(made, "ONE", 5) + waits(made, "OTHER", 6) == [0] * 10 + [1000]
    assert made.wait_ms(2, "ONE", 0) == 0


def test_the_listener_of_brokers_has_its_own_alone() -> None:
    made = rates(**{RATE: "1"})
    assert waits(made, "PLAINTEXT", 11) == [0] * 10 + [1000]
    assert made.wait_ms(1, "ONE", 0) == 0


def test_a_listener_has_a_pace_of_its_own() -> None:
    made = rates(**{f"listener.name.one.{RATE}": "1"})
    assert waits(made, "ONE", 11) == [0] * 10 + [1000]
    assert waits(made, "OTHER", 100) == [0] * 100


def test_what_was_turned_away_does_not_count() -> None:
    made = rates(**{RATE: "1"})
    assert waits(made, "ONE", 10) == [0] * 10
    made.take_back(1, "ONE", 0)
    assert waits(made, "ONE", 2) == [0, 1000]


def test_none_at_all_is_one_in_a_window() -> None:
    assert waits(rates(**{RATE: "0"}), "ONE", 2) == [1000, 1000]


def test_a_change_counts_at_once() -> None:
    config = BrokerConfig(LISTENERS | {RATE: "1"})
    made = AcceptRates(config)
    assert waits(made, "ONE", 11)[-1] == 1000
    config.set_dynamic(None, {RATE: "1000"})
    assert made.wait_ms(1, "ONE", 0) == 0
