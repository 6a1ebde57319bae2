"""The cluster as every node describes it: nodes, topics, coordinators, the quorum, its own
configs."""

from __future__ import annotations

import pytest

from conformance.differential.broker_side import at
from conformance.differential.cluster.topics import NODES, create, described
from conformance.differential.comparison import Pair
from conformance.differential.test_metadata import about
from conformance.differential.wait_ready import assigned_topic
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from kafkalite.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from kafkalite.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    PartitionDataRequest,
    TopicDataRequest,
)
from kafkalite.wire.messages.describe_topic_partitions import Cursor
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.unregister_broker import UnregisterBrokerRequest

BROKER = 4
SET, DELETE = 0, 1
FIND_SEVERAL_SINCE = 4


@pytest.mark.parametrize("version", range(14))
def test_metadata(cluster: Pair, spread: str, version: int) -> None:
    for node in NODES:
        cluster.ask(ApiKey.METADATA, version, about(spread), connection=at(node))
        cluster.ask(ApiKey.METADATA, version, about("__consumer_offsets"), connection=at(node))


@pytest.mark.parametrize("version", range(3))
def test_the_cluster(cluster: Pair, version: int) -> None:
    for node in NODES:
        for fenced in (False, True):
            request = DescribeClusterRequest(include_fenced_brokers=fenced)
            cluster.ask(ApiKey.DESCRIBE_CLUSTER, version, request, connection=at(node))


@pytest.mark.parametrize("version", range(3))
def test_the_quorum(cluster: Pair, version: int) -> None:
    for name, index in (("__cluster_metadata", 0), ("__cluster_metadata", 1), ("other", 0)):
        partition = PartitionDataRequest(partition_index=index)
        asked = TopicDataRequest(topic_name=name, partitions=[partition])
        for node in NODES:
            request = DescribeQuorumRequest(topics=[asked])
            cluster.ask(ApiKey.DESCRIBE_QUORUM, version, request, connection=at(node))


@pytest.mark.parametrize("version", range(7))
@pytest.mark.parametrize("key_type", [0, 1])
def test_coordinators(cluster: Pair, topic: str, version: int, key_type: int) -> None:
    """Each is where Kafka's hash puts it, and every node says so."""
    if key_type and not version:
        return
    keys = [f"{topic}-{number}" for number in range(8)]
    found = set()
    for node in NODES:
        if version >= FIND_SEVERAL_SINCE:
            request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
            answer, _ = cluster.ask(ApiKey.FIND_COORDINATOR, version, request, connection=at(node))
            found |= {each.node_id for each in answer.coordinators}
            continue
        for key in keys:
            request = FindCoordinatorRequest(key_type=key_type, key=key)
            answer, _ = cluster.ask(ApiKey.FIND_COORDINATOR, version, request, connection=at(node))
            found.add(answer.node_id)
    assert len(found) > 1


def test_partitions_described(cluster: Pair, topic: str) -> None:
    create(cluster, topic)
    create(cluster, f"{topic}-2", [[3, 1, 2], [2, 1, 3]])
    for node in NODES:
        request = described(topic, f"{topic}-2", f"{topic}-none")
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, request, connection=at(node))
        request.response_partition_limit = 3
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, request, connection=at(node))
        request.cursor = Cursor(topic_name=topic, partition_index=2)
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, request, connection=at(node))


WRONG_ASSIGNMENTS = {
    "a node that is not there": [[1, 7]],
    "a node twice": [[1, 1]],
    "no node": [[]],
    "factors that differ": [[1, 2], [3]],
    "a negative id": [[-1]],
}


@pytest.mark.parametrize("version", range(2, 8))
def test_creating(cluster: Pair, topic: str, version: int) -> None:
    """By every node: with replicas by hand, right and wrong, and with a factor, possible and
    not."""
    for node in NODES:
        where = at(node)
        topics = [assigned_topic(f"{topic}-{node}", [[2, 3], [3, 1]])]
        request = CreateTopicsRequest(topics=topics)
        cluster.ask(ApiKey.CREATE_TOPICS, version, request, connection=where)
        cluster.ask(ApiKey.CREATE_TOPICS, version, request, connection=where)
        for number, assignments in enumerate(WRONG_ASSIGNMENTS.values()):
            topics = [assigned_topic(f"{topic}-wrong-{number}", assignments)]
            cluster.ask(
                ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=topics), connection=where
            )
        for factor in (0, 1, 3, 4, -1 if version >= 4 else 2):
            new = CreatableTopic(
                name=f"{topic}-{node}-{factor}", num_partitions=2, replication_factor=factor
            )
            request = CreateTopicsRequest(topics=[new])
            cluster.ask(ApiKey.CREATE_TOPICS, version, request, connection=where)
    gap = assigned_topic(f"{topic}-gap", [[1]])
    gap.assignments.append(CreatableReplicaAssignment(partition_index=2, broker_ids=[2]))
    cluster.ask(ApiKey.CREATE_TOPICS, version, CreateTopicsRequest(topics=[gap]))
    cluster.settle()
    names = [f"{topic}-{node}" for node in NODES]
    for side in cluster.sides:
        for name in names:
            side.topic_id(name)
    for node in NODES:
        request = described(*names)
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, request, connection=at(node))


@pytest.mark.parametrize("version", range(4))
def test_more_partitions(cluster: Pair, topic: str, version: int) -> None:
    create(cluster, topic, [[1, 2]])
    for count, assignments in (
        (3, [[1, 7], [2, 3]]),
        (3, [[3, 1]]),
        (3, [[3], [2]]),
        (3, [[3, 3], [2, 1]]),
        (3, [[3, 1], [2, 3]]),
        (2, None),
    ):
        new = CreatePartitionsTopic(
            name=topic,
            count=count,
            assignments=assignments
            and [CreatePartitionsAssignment(broker_ids=nodes) for nodes in assignments],
        )
        request = CreatePartitionsRequest(topics=[new], timeout_ms=10_000)
        cluster.ask(ApiKey.CREATE_PARTITIONS, version, request, connection=at(2))
    cluster.settle()
    for node in NODES:
        cluster.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, described(topic), connection=at(node))


@pytest.mark.parametrize("version", range(2))
def test_configs_of_nodes(cluster: Pair, version: int) -> None:
    """A node's own are altered and described by that node only; those of all by any."""
    for asked in NODES:
        for operation in (SET, DELETE):
            for name in ("", "1", "2", "7", "x"):
                config = AlterableConfig(
                    name="log.cleaner.threads", config_operation=operation, value="2"
                )
                resource = AlterConfigsResource(
                    resource_type=BROKER, resource_name=name, configs=[config]
                )
                cluster.ask(
                    ApiKey.INCREMENTAL_ALTER_CONFIGS,
                    version,
                    IncrementalAlterConfigsRequest(resources=[resource]),
                    connection=at(asked),
                )
            cluster.settle()
            if operation == SET:
                describe_configs(cluster)


def describe_configs(cluster: Pair) -> None:
    for node in NODES:
        for name in ("", "1", "2", "3", "7", "x"):
            resource = DescribeConfigsResource(
                resource_type=BROKER,
                resource_name=name,
                configuration_keys=["log.cleaner.threads", "node.id", "broker.id"],
            )
            request = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
            cluster.ask(ApiKey.DESCRIBE_CONFIGS, 4, request, connection=at(node))


def test_nodes_that_are_none(cluster: Pair) -> None:
    for node in NODES:
        request = UnregisterBrokerRequest(broker_id=77)
        cluster.ask(ApiKey.UNREGISTER_BROKER, 0, request, connection=at(node))
