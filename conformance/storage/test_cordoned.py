"""Data directories that get no new partitions (`cordoned.log.dirs`, KIP-1066), as Apache Kafka has
it."""

import time
from collections.abc import Callable
from functools import partial

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.storage.clients import SECONDS
from conformance.storage.test_log_dirs import disk, move, pair, until_both
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkalite.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

__all__ = ["pair"]
BROKER, SET, DELETE = 4, 0, 1
INVALID_REPLICATION_FACTOR, INVALID_REPLICA_ASSIGNMENT = 38, 39


def cordon(pair: Pair, dirs: Callable[[Side], str] | None, resource: str = "1") -> None:
    """Set the config, or remove it with None."""

    def request(side: Side) -> IncrementalAlterConfigsRequest:
        config = AlterableConfig(
            name="cordoned.log.dirs",
            config_operation=DELETE if dirs is None else SET,
            value=dirs and dirs(side),
        )
        changed = AlterConfigsResource(
            resource_type=BROKER, resource_name=resource, configs=[config]
        )
        return IncrementalAlterConfigsRequest(resources=[changed])

    pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)


def always(value: str, side: Side) -> str:
    return value


def until_cordoned(pair: Pair, expected: list[bool]) -> None:
    deadline = time.monotonic() + SECONDS
    for side in pair.sides:
        while expected != [
            result.is_cordoned
            for result in sorted(
                side.ask(ApiKey.DESCRIBE_LOG_DIRS, 5, DescribeLogDirsRequest()).results,
                key=lambda result: str(result.log_dir),
            )
        ]:
            assert time.monotonic() < deadline, side.broker.kind
            time.sleep(0.05)


def until_the_controller_knows(side: Side) -> None:
    """Apache Kafka's broker tells it so with its next heartbeat."""
    deadline = time.monotonic() + SECONDS
    topic = CreatableTopic(name="probe", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], validate_only=True)
    while not side.ask(ApiKey.CREATE_TOPICS, 7, request).topics[0].error_code:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def create(pair: Pair, name: str, factor: int = 1) -> int:
    topic = CreatableTopic(name=name, num_partitions=6, replication_factor=factor)
    _, answer = pair.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic]))
    return int(answer.topics[0].error_code)


def create_assigned(pair: Pair, name: str) -> int:
    to = CreatableReplicaAssignment(partition_index=0, broker_ids=[1])
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=[to])
    _, answer = pair.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic]))
    return int(answer.topics[0].error_code)


def grow(pair: Pair, name: str, count: int) -> int:
    topics = [CreatePartitionsTopic(name=name, count=count, assignments=None)]
    request = CreatePartitionsRequest(topics=topics, timeout_ms=10_000)
    _, answer = pair.ask(ApiKey.CREATE_PARTITIONS, 3, request)
    return int(answer.results[0].error_code)


def test_new_partitions_go_elsewhere(pair: Pair) -> None:
    cordon(pair, lambda side: f"{disk(side, 0)},{disk(side, 1)}")
    until_cordoned(pair, [True, True, False])
    pair.create_topic("t", 6)
    all_of_t = [("t", index, False, 0, False) for index in range(6)]
    until_both(pair, lambda disks: disks == {"disk-0": [], "disk-1": [], "disk-2": all_of_t})
    assert move(pair, lambda side: disk(side, 0), "t", 1) == [INVALID_REPLICA_ASSIGNMENT]

    for value in ("nowhere", "*,nowhere", "", "*"):
        for resource in ("", "1"):
            cordon(pair, partial(always, value), resource)
    until_cordoned(pair, [True, True, True])
    until_the_controller_knows(pair.reference)
    for factor in (1, 2, 0):
        assert create(pair, "u", factor) == INVALID_REPLICATION_FACTOR
    assert grow(pair, "t", 7) == INVALID_REPLICATION_FACTOR
    assert create_assigned(pair, "assigned") == 0

    for resource in ("", "1"):
        cordon(pair, None, resource)
    until_cordoned(pair, [False, False, False])
