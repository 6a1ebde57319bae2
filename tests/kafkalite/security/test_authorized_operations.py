"""Operations as bits: the numbers that Apache Kafka 4.3.1 answers without an authorizer."""

from __future__ import annotations

from kafkalite.security import authorized_operations
from tests.kafkalite import authorized_operations as expected


def test_the_bits_are_those_of_kafka() -> None:
    for name in ("TOPIC_OPERATIONS", "CLUSTER_OPERATIONS", "GROUP_OPERATIONS"):
        assert getattr(authorized_operations, name) == getattr(expected, name), name
