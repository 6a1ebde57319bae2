"""Pushed metrics stay for a while, and are bounded."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from kafkalite.requests.slices import at_once
from kafkalite.telemetry import pushed_metrics
from kafkalite.telemetry.pushed_metrics import PushedMetrics
from kafkalite.wire.errors import KafkaError
from tests.kafkalite.telemetry.pushes import counter, gauge, pushed


@dataclass
class Kept:
    """A store with a clock of its own."""

    now_ms: int = 0

    def __post_init__(self) -> None:
        self.store = PushedMetrics(lambda: self.now_ms)

    def push(self, client: str, *metrics: Metric, life_ms: int = 1000) -> None:
        attributes = {"client_instance_id": client, "client_id": "c"}
        at_once(self.store.receive(attributes, pushed(*metrics), self.now_ms + life_ms))

    def values(self) -> dict[tuple[str, str], float]:
        return {
            (client.attributes["client_instance_id"], series.name): value
            for client in self.store
            for series, value in (client.gauges | client.sums).items()
        }


@pytest.fixture
def kept() -> Kept:
    return Kept()


def test_a_gauge_is_what_was_pushed_last(kept: Kept) -> None:
    kept.push("a", gauge("m", 1), gauge("n", 2))
    kept.push("a", gauge("m", 3))
    assert kept.values() == {("a", "client_m"): 3.0}


def test_increases_are_added_up_and_sums_replaced(kept: Kept) -> None:
    for _ in range(3):
        kept.push("a", counter("m", 2), counter("n", 5, is_delta=False))
    kept.push("a", counter("m", 1))
    assert kept.values() == {("a", "client_m_total"): 7.0, ("a", "client_n_total"): 5.0}


def test_clients_are_kept_apart(kept: Kept) -> None:
    kept.push("a", counter("m", 1))
    kept.push("b", counter("m", 2))
    assert kept.values() == {("a", "client_m_total"): 1.0, ("b", "client_m_total"): 2.0}


def test_a_silent_client_is_forgotten(kept: Kept) -> None:
    kept.push("a", counter("m", 1))
    kept.push("b", counter("m", 1), life_ms=2000)
    kept.now_ms = 999
    assert set(kept.values()) == {("a", "client_m_total"), ("b", "client_m_total")}
    kept.now_ms = 1000
    assert set(kept.values()) == {("b", "client_m_total")}
    kept.push("a", counter("m", 5))
    assert kept.values()["a", "client_m_total"] == 5.0


def test_a_push_that_cannot_be_read_changes_nothing(kept: Kept) -> None:
    kept.push("a", counter("m", 1))
    with pytest.raises(KafkaError):
        at_once(kept.store.receive({"client_instance_id": "a", "client_id": "c"}, b"\xff", 5000))
    kept.now_ms = 999
    assert kept.values() == {("a", "client_m_total"): 1.0}


def test_memory_is_bounded_and_the_silent_ones_go_first(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pushed_metrics, "_MOST_BYTES", 100_000)
    for number in range(50):
        kept.push("talker", counter("m", 1))
        kept.push(f"c{number}", *(gauge(f"m{number}-{i}", 1) for i in range(20)))
    clients = {client for client, _ in kept.values()}
    assert {"talker", "c49"} <= clients
    assert len(clients) < 15
    assert kept.values()["talker", "client_m_total"] == 50.0
