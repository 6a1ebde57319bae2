"""The quotas of one node: which kinds there are, over which windows, and when they are active."""

from __future__ import annotations

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.security.quotas import Quotas
from tests.kafkalite.security.in_force import OneNode

ALICE = (("user", "alice"),)


def quotas(values: dict[str, float], **configs: str) -> OneNode:
    own = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    made = OneNode(
        BrokerConfig(own | {name.replace("_", "."): text for name, text in configs.items()})
    )
    made.replace({ALICE: values})
    return made


KINDS = {
    "producer_byte_rate": "produce",
    "consumer_byte_rate": "fetch",
    "request_percentage": "request",
    "controller_mutation_rate": "mutation",
}


@pytest.mark.parametrize("key", KINDS)
def test_each_kind_is_measured_by_itself(key: str) -> None:
    made = quotas({key: 7.0})
    assert made.is_active
    most = {kind: getattr(made, kind).most_in_window("alice", "app") for kind in KINDS.values()}
    assert {kind for kind, amount in most.items() if amount == 70} == {KINDS[key]}
    made.replace({})
    assert not made.is_active


def test_connections_alone_are_no_quota_of_a_client() -> None:
    by_address: Quotas = {(("ip", "10.0.0.1"),): {"connection_creation_rate": 1.0}}
    made = quotas({})
    made.replace(by_address)
    assert not made.is_active
    waits = [made.connections.throttle_ms("10.0.0.1", 0) for _ in range(20)]
    assert max(waits) > 0


def test_bytes_are_measured_over_the_windows_of_clients() -> None:
    values = {"producer_byte_rate": 100.0, "controller_mutation_rate": 1.0}
    made = quotas(values, quota_window_num="3", quota_window_size_seconds="2")
    assert made.produce.most_in_window("alice", "app") == 400.0
    # The bucket of mutations has windows of its own: eleven of a second.
    assert made.mutation.most_in_window("alice", "app") == 10.0
    made = quotas(values, controller_quota_window_num="3", controller_quota_window_size_seconds="2")
    assert made.produce.most_in_window("alice", "app") == 1000.0
    assert made.mutation.most_in_window("alice", "app") == 4.0


def test_a_request_is_held_for_one_sample_at_most() -> None:
    made = quotas({"request_percentage": 1.0, "producer_byte_rate": 1.0})
    assert made.request.record("alice", "app", 100_000, 0) == 1000
    assert made.produce.record("alice", "app", 100_000, 0) > 1000
