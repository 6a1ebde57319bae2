"""Decisions about every partition: taken in steps, and anew when the metadata have changed."""

from __future__ import annotations

from pathlib import Path

from kafkalite.cluster.partition_decisions import balanced, caught_up, elected, fenced, unfenced
from kafkalite.requests.slices import at_once
from kafkalite.wire.messages.stored.broker_registration_change_record import (
    BrokerRegistrationChangeRecord,
)
from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord
from tests.kafkalite.snapshots import Opened, create


def test_a_node_that_is_fenced_leads_nothing(tmp_path: Path) -> None:
    cluster = Opened(tmp_path).start().cluster
    create(cluster, "t", 1, 2)
    leader = cluster.image.topics["t"].partitions[0].leader_id
    registration, *changes = at_once(fenced(cluster.image, cluster.config, leader))
    assert isinstance(registration, BrokerRegistrationChangeRecord)
    assert (registration.broker_id, registration.fenced) == (leader, 1)
    assert changes
    for each in changes:
        assert isinstance(each, PartitionChangeRecord)
        assert each.leader != leader
    assert at_once(elected(cluster.image, cluster.config)) == []
    assert at_once(balanced(cluster.image)) == []
    assert at_once(caught_up(cluster.image)) == []


def test_many_partitions_are_decided_in_steps(tmp_path: Path) -> None:
    cluster = Opened(tmp_path).start().cluster
    for number in range(5):
        create(cluster, f"t{number}", 1, 1)
    assert len(list(unfenced(cluster.image, cluster.config, 1))) >= 5


def test_a_decision_is_taken_anew_when_another_came_between(tmp_path: Path) -> None:
    cluster = Opened(tmp_path).start().cluster
    create(cluster, "t", 1, 2)
    state = cluster.image.topics["t"].partitions[0]
    leader = state.leader_id
    fencing = cluster.fencing(leader)
    next(fencing)
    other = next(node for node in state.replicas if node != leader)
    cluster.fence(other)
    at_once(fencing)
    assert leader not in cluster.alive
    assert cluster.image.topics["t"].partitions[0].leader_id not in (leader, other)
