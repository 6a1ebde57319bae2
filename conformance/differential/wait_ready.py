"""Brokers made ready for comparison: internal topics exist, and their coordinators are loaded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from conformance.differential.broker_side import Side
from conformance.harness.broker import Broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.describe_transactions import DescribeTransactionsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest

# The controller of Apache Kafka gathers writes for 25 ms, which would be most of what a run takes;
# and nothing old is thrown away by the clock while answers are compared.
PROPERTIES = {
    "controller.quorum.append.linger.ms": "0",
    # a loaded machine must not make a node lose its leaderships, and their epochs grow
    "broker.session.timeout.ms": "60000",
    # half of the processor time that an idle Apache Kafka takes, for a quarter of an hour
    "broker.heartbeat.interval.ms": "5000",
    "metadata.max.idle.interval.ms": "0",
    "log.retention.check.interval.ms": "86400000",
    "log.initial.task.delay.ms": "86400000",
    "log.segment.delete.delay.ms": "1000",
    # a story need not wait for long until a lock has run out
    "group.share.min.record.lock.duration.ms": "1000",
}
ONE_NODE = {
    # so that what is asked first is seen first, on whatever connection
    "num.network.threads": "1",
    "num.io.threads": "1",
    "group.coordinator.threads": "1",
    # and a coordinator writes at once what it has to
    "group.coordinator.append.linger.ms": "0",
}
THREE_NODES = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    # a follower that a loaded machine keeps from fetching stays in sync all the same
    "replica.lag.time.max.ms": "60000",
    "auto.leader.rebalance.enable": "false",
    "controller.quorum.election.timeout.ms": "8000",
    "controller.quorum.fetch.timeout.ms": "15000",
}

# There is such an id, or there is none.
LOADED = {0, 105}
MANY = [f"group-{number}" for number in range(50)]
GROUP, TRANSACTION = 0, 1
# Both must have the same coordinators, and Apache Kafka begins its placing anywhere.
REPLICAS = [[1, 2, 3], [2, 3, 1], [3, 1, 2], [2, 1, 3]]
INTERNAL_TOPICS = {
    "__consumer_offsets": {"cleanup.policy": "compact", "compression.type": "producer"},
    "__transaction_state": {"cleanup.policy": "compact", "compression.type": "uncompressed"},
}


def wait_until_settled(broker: Broker) -> None:
    """Wait until every node knows what the controller has answered (a topic is made, say)."""
    side = Side(broker)
    side.settle()
    side.close()


def wait_for_coordinators(broker: Broker) -> None:
    """Apache Kafka's coordinators say NOT_COORDINATOR for a moment; some clients' calls do not
    ask again."""
    side = Side(broker)
    make_ready(side)
    side.close()


def make_ready(side: Side) -> None:
    """Make the internal topics, and wait for the coordinator of every partition of them."""
    if len(side.nodes) > 1:
        make_internal_topics(side)
    for node, ids in by_coordinator(side, GROUP).items():
        side.until_no_error(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=ids), node)
    for node, ids in by_coordinator(side, TRANSACTION).items():
        side.until(
            ApiKey.DESCRIBE_TRANSACTIONS,
            0,
            DescribeTransactionsRequest(transactional_ids=ids),
            lambda answer: {s.error_code for s in answer.transaction_states} <= LOADED,
            node,
        )
    for node in side.nodes:  # its first producer id comes a little later
        producer = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1)
        side.until_no_error(ApiKey.INIT_PRODUCER_ID, 4, producer, node)


def by_coordinator(side: Side, key_type: int) -> dict[int, list[str]]:
    """Ids enough to have one in every partition, by the node that coordinates them: all nodes know
    it."""
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=MANY)
    found: dict[int, list[str]] = defaultdict(list)
    for node in side.nodes:
        answer = side.until_no_error(ApiKey.FIND_COORDINATOR, 6, request, node)
    for each in answer.coordinators:
        found[each.node_id].append(each.key)
    return found


def assigned_topic(
    name: str, replicas: Sequence[Sequence[int]], configs: Mapping[str, str] | None = None
) -> CreatableTopic:
    """A topic to be created, the nodes of each partition chosen by hand."""
    return CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[
            CreatableReplicaAssignment(partition_index=index, broker_ids=list(nodes))
            for index, nodes in enumerate(replicas)
        ],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()
        ],
    )


def make_internal_topics(side: Side) -> None:
    topics = [assigned_topic(name, REPLICAS, own) for name, own in INTERNAL_TOPICS.items()]
    side.until_no_error(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=topics))
    side.settle()
