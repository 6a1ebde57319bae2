"""A leader that stood still for longer than its session goes on: what it is asked for then.

All coordinators are on the broker that is stopped. Requests wait in its sockets while others take
over. It must not say that anything was done which the others know nothing of.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from conformance.cluster_crash import differing_replicas
from conformance.harness.members import NOT_YET, Requests
from conformance.harness.quorum import QuorumCluster
from conformance.scenarios.placed_topics import placed_topic
from conformance.scenarios.test_cluster_groups import coordinator_of
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalite.wire.messages.end_txn import EndTxnRequest
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch

TOPIC, GROUP, TRANSACTIONAL = "crash", "group", "transactional"  # cluster_crash compares "crash"
PARTITIONS = 4
FIRST, OTHERS = 11, (12, 13)
SECONDS = 60
EARLY, LATE = 7, 99
INTERNAL = ("__consumer_offsets", "__transaction_state")

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture(
    params=["1", pytest.param("2", marks=pytest.mark.long)], ids=["min-isr-1", "min-isr-2"]
)
def cluster(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[QuorumCluster]:
    min_isr = {"min.insync.replicas": str(request.param)}
    made = QuorumCluster(tmp_path, kafkalite=3, properties=min_isr)
    places = [[FIRST, *OTHERS]] * PARTITIONS
    compacted = {"cleanup.policy": "compact", **min_isr}
    topics = [placed_topic(TOPIC, places, min_isr)]
    topics += [placed_topic(each, places, compacted) for each in INTERNAL]
    try:
        admin = AdminClient({"bootstrap.servers": made.bootstrap, "log_level": 0})
        for created in admin.create_topics(topics).values():
            created.result(SECONDS)
        yield made
    finally:
        made.close()


@pytest.fixture
def at_end() -> Iterator[ExitStack]:
    """Is closed when the test is over, however it went."""
    with ExitStack() as stack:
        yield stack


def connected(cluster: QuorumCluster, node_id: int) -> Requests:
    return Requests(f"127.0.0.1:{cluster.brokers[node_id]}", SECONDS)


def produced(value: bytes, acks: int = -1) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=build_batch([Record(timestamp=1, value=value)]))
    topics = [TopicProduceData(name=TOPIC, partition_data=[data])]
    return ProduceRequest(acks=acks, timeout_ms=5000, topic_data=topics)


def first_produced(connection: Requests) -> int:
    """The error code for the first record, once the broker has heard that it leads."""
    deadline = time.monotonic() + SECONDS
    while True:
        answer = connection.call(produced(b"first"), 11).responses[0].partition_responses[0]
        unheard = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if answer.error_code not in unheard or time.monotonic() > deadline:
            return answer.error_code
        time.sleep(0.05)


def committed(offset: int) -> OffsetCommitRequest:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    return OffsetCommitRequest(group_id=GROUP, topics=[topic])


def initialized(cluster: QuorumCluster, node_id: int) -> tuple[int, int]:
    """A producer id and epoch for the transactional id, by this coordinator."""
    request = InitProducerIdRequest(transactional_id=TRANSACTIONAL, transaction_timeout_ms=60_000)
    deadline = time.monotonic() + SECONDS
    with connected(cluster, node_id) as connection:
        while True:
            answer = connection.call(request, 4)
            if not answer.error_code:
                return answer.producer_id, answer.producer_epoch
            assert answer.error_code in (*NOT_YET, ErrorCode.CONCURRENT_TRANSACTIONS), answer
            assert time.monotonic() < deadline
            time.sleep(0.05)


def leader_of(cluster: QuorumCluster) -> int:
    bootstrap = ",".join(f"127.0.0.1:{cluster.brokers[each]}" for each in OTHERS)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    topics = admin.list_topics(timeout=SECONDS).topics
    leaders = {
        each.leader for name in (TOPIC, *INTERNAL) for each in topics[name].partitions.values()
    }
    return leaders.pop() if len(leaders) == 1 else -1


def wait_for_other_leader(cluster: QuorumCluster) -> int:
    deadline = time.monotonic() + SECONDS
    while (leader := leader_of(cluster)) not in OTHERS:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return leader


def read(cluster: QuorumCluster, isolation: str) -> list[bytes | None]:
    settings = {"bootstrap.servers": cluster.bootstrap, "isolation.level": isolation}
    consumer = Consumer({**settings, "group.id": "reader", "enable.partition.eof": True})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    found: list[bytes | None] = []
    while True:
        message = consumer.poll(SECONDS)
        assert message is not None
        if message.error() is not None:
            break
        found.append(message.value())
    consumer.close()
    return found


def test_a_leader_that_stood_still_says_nothing_that_is_not_so(
    cluster: QuorumCluster, at_end: ExitStack
) -> None:
    with connected(cluster, FIRST) as connection:
        assert first_produced(connection) == ErrorCode.NONE
    wait_for_coordinator(cluster)
    producer_id, epoch = initialized(cluster, FIRST)
    names = [AddPartitionsToTxnTopic(name=TOPIC, partitions=[1])]
    identity = (TRANSACTIONAL, producer_id, epoch)
    adding = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=TRANSACTIONAL,
        v3_and_below_producer_id=producer_id,
        v3_and_below_producer_epoch=epoch,
        v3_and_below_topics=names,
    )
    late = [at_end.enter_context(connected(cluster, FIRST)) for _ in range(4)]
    added = late[3].call(adding, 3).results_by_topic_v3_and_below[0].results_by_partition[0]
    assert added.partition_error_code == 0

    cluster.pause(FIRST)
    late[0].ask_for(produced(b"late"), 11)
    late[1].ask_for(produced(b"late, by the leader alone", acks=1), 11)
    late[2].ask_for(committed(LATE), 9)
    late[3].ask_for(EndTxnRequest(*identity, committed=True), 3)
    leader = wait_for_other_leader(cluster)
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    producer.produce(TOPIC, b"second", partition=0)
    assert producer.flush(SECONDS) == 0
    commit_at(cluster, leader, EARLY)
    _, next_epoch = initialized(cluster, leader)  # the transaction is aborted
    assert next_epoch > epoch

    cluster.resume(FIRST)
    answer = late[0].answer(0, 11).responses[0].partition_responses[0]
    assert answer.error_code, answer
    late[1].answer(0, 11)  # acks=1 promises nothing
    answer = late[2].answer(8, 9).topics[0].partitions[0]
    assert answer.error_code, answer
    answer = late[3].answer(26, 3)
    assert answer.error_code, answer
    at_end.close()

    wait_until_in_sync(cluster)
    assert read(cluster, "read_uncommitted") == [b"first", b"second"]
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": GROUP})
    (found,) = consumer.committed([TopicPartition(TOPIC, 0)], SECONDS)
    consumer.close()
    assert found.offset == EARLY
    for node_id in cluster.brokers:
        assert cluster.stop(node_id) == 0
    assert differing_replicas(cluster) == []


def wait_for_coordinator(cluster: QuorumCluster) -> None:
    deadline = time.monotonic() + SECONDS
    while coordinator_of(cluster, GROUP) != FIRST:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def commit_at(cluster: QuorumCluster, node_id: int, offset: int) -> None:
    deadline = time.monotonic() + SECONDS
    with connected(cluster, node_id) as connection:
        while code := connection.call(committed(offset), 9).topics[0].partitions[0].error_code:
            assert code in NOT_YET, code
            assert time.monotonic() < deadline
            time.sleep(0.05)


def wait_until_in_sync(cluster: QuorumCluster) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        partitions = admin.list_topics(TOPIC, SECONDS).topics[TOPIC].partitions.values()
        if all(len(each.isrs) == 3 for each in partitions):
            return
        time.sleep(0.1)
    raise AssertionError("not all replicas are in sync")
