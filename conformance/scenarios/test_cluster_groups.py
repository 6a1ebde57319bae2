"""Groups over several processes: their coordinators are killed, and no committed offset goes back.

Three brokers of kafkalite under one of Apache Kafka's controllers, `__consumer_offsets` on all of
them. Members of every client, in both protocols, read what one producer writes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from conformance.harness.members import GROUP_KEY, Requests
from conformance.harness.quorum import QuorumCluster
from conformance.scenarios.groups_of_clients import (
    Feeder,
    Group,
    clients,
    wait_for_all,
    wait_for_more,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)

TOPIC = "numbers"
PARTITIONS = 3
SECONDS = 120
# Each broker leads some of the four partitions that these belong to.
COMMITTED = tuple(f"committed-{number}" for number in range(6))
_MORE = 10
PROPERTIES = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "replica.lag.time.max.ms": "5000",
    "group.consumer.heartbeat.interval.ms": "300",
    "group.consumer.min.heartbeat.interval.ms": "100",
}

pytestmark = pytest.mark.xdist_group("cluster")


@pytest.fixture
def closing() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def coordinator_of(cluster: QuorumCluster, group_id: str) -> int:
    """The coordinator by what the first broker that answers says; -1 while there is none."""
    request = FindCoordinatorRequest(key_type=GROUP_KEY, coordinator_keys=[group_id])
    for port in cluster.brokers.values():
        with suppress(OSError), Requests(f"127.0.0.1:{port}") as connection:
            (found,) = connection.call(request, 4).coordinators
            return int(found.node_id)
    return -1


class Committer:
    """Commits one offset after the other in groups of its own, and reads each back.

    The clients' own groups do not do: librdkafka sends old commits again after newer ones.
    """

    def __init__(self, cluster: QuorumCluster) -> None:
        self.steps_back: list[str] = []
        self.acknowledged: dict[str, int] = dict.fromkeys(COMMITTED, -1)
        self._cluster = cluster
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        offset = 0
        while not self._stopping.wait(0.02):
            offset += 1
            for group_id in COMMITTED:
                with suppress(OSError):  # while its coordinator is gone
                    self._commit(group_id, offset)

    def _commit(self, group_id: str, offset: int) -> None:
        port = self._cluster.brokers.get(coordinator_of(self._cluster, group_id))
        if port is None:
            return
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
        wanted = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])
        group = OffsetFetchRequestGroup(group_id=group_id, topics=[wanted])
        with Requests(f"127.0.0.1:{port}") as connection:
            commit = OffsetCommitRequest(group_id=group_id, topics=[topic])
            committed = connection.call(commit, 9).topics[0].partitions[0]
            if not committed.error_code:
                self.acknowledged[group_id] = offset
            (answer,) = connection.call(OffsetFetchRequest(groups=[group]), 8).groups
        if not answer.error_code:
            found = answer.topics[0].partitions[0].committed_offset
            if found < self.acknowledged[group_id]:
                self.steps_back.append(f"{group_id}: {self.acknowledged[group_id]} to {found}")

    def wait_for_more(self) -> None:
        """Until commits of each group were acknowledged anew."""
        before = dict(self.acknowledged)
        deadline = time.monotonic() + SECONDS
        while any(self.acknowledged[each] < before[each] + _MORE for each in COMMITTED):
            assert time.monotonic() < deadline, f"{before} became {self.acknowledged}"
            time.sleep(0.1)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


@pytest.mark.long
def test_coordinators_are_killed_and_no_offset_goes_back(
    tmp_path: Path, closing: ExitStack
) -> None:
    cluster = QuorumCluster(tmp_path, kafkalite=3, properties=PROPERTIES)
    closing.callback(cluster.close)
    bootstrap = cluster.bootstrap
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])[TOPIC].result(SECONDS)
    feeder = Feeder(bootstrap, TOPIC, PARTITIONS)
    closing.callback(feeder.close)
    groups = [Group(client, bootstrap, TOPIC, f"group-{client}", 1) for client in clients()]
    for group in groups:
        closing.callback(group.close)
    wait_for_more(groups, SECONDS)
    committer = Committer(cluster)
    closing.callback(committer.stop)
    for group in groups[:2]:
        victim = coordinator_of(cluster, group.group_id)
        cluster.kill(victim)
        wait_for_more(groups, SECONDS, more=300)
        assert coordinator_of(cluster, group.group_id) != victim
        cluster.start(victim)
        cluster.wait()
        wait_for_isr(admin, 3)
        committer.wait_for_more()
    wait_for_all(groups, feeder.stop(), SECONDS)
    committer.stop()
    assert committer.steps_back == []


def wait_for_isr(admin: AdminClient, count: int) -> None:
    """Until all replicas of the offsets are in sync again."""
    for _ in range(SECONDS * 4):
        partitions = admin.list_topics(timeout=SECONDS).topics["__consumer_offsets"].partitions
        if all(len(each.isrs) == count for each in partitions.values()):
            return
        threading.Event().wait(0.25)
    raise AssertionError("not all are in sync again")
