"""One group of each new kind, whose state must be the same wherever its coordinator goes.

A consumer group (KIP-848) with committed offsets, a streams group (KIP-1071) with a topology, and a
share group (KIP-932) that has accepted some of a queue.
"""

from __future__ import annotations

import time
from typing import Any

from confluent_kafka import AcknowledgeType, Producer, ShareConsumer
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewTopic,
    ResourceType,
)

from conformance.harness.members import NOT_YET, Requests
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
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
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    Topology,
)

QUEUE, QUEUED, AT_ONCE = "queue", 40, 4
CONSUMERS, STREAMS, SHARERS = "consumers", "streams", "sharers"
COMMITTED = 9
SECONDS = 60


class KeptGroups:
    """The groups, with a member each in the first two."""

    def __init__(self, bootstrap: str) -> None:
        """Creates the topic, the queue of the share group, and the groups."""
        self.bootstrap = bootstrap
        self.accepted = 0
        admin = AdminClient({"bootstrap.servers": bootstrap})
        admin.create_topics([NewTopic(QUEUE, 1)])[QUEUE].result(SECONDS)
        earliest = ConfigEntry(
            "share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET
        )
        group = ConfigResource(ResourceType.GROUP, SHARERS, incremental_configs=[earliest])
        admin.incremental_alter_configs([group])[group].result(SECONDS)
        self._member_epoch = self._ask(
            CONSUMERS,
            ConsumerGroupHeartbeatRequest(
                CONSUMERS,
                "c-1",
                rebalance_timeout_ms=60_000,
                subscribed_topic_names=[QUEUE],
                topic_partitions=[],
            ),
            0,
        ).member_epoch
        self._streams_epoch = self._ask(
            STREAMS,
            StreamsGroupHeartbeatRequest(
                STREAMS,
                "s-1",
                rebalance_timeout_ms=60_000,
                topology=Topology(1, [Subtopology("0", [QUEUE])]),
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
                process_id="p",
            ),
            0,
        ).member_epoch
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=COMMITTED, committed_metadata="kept"
        )
        commit = OffsetCommitRequest(
            group_id=CONSUMERS,
            generation_id_or_member_epoch=self._member_epoch,
            member_id="c-1",
            topics=[OffsetCommitRequestTopic(name=QUEUE, partitions=[partition])],
        )
        (topic,) = self._ask_once(CONSUMERS, commit, 9).topics
        assert topic.partitions[0].error_code == 0
        producer = Producer({"bootstrap.servers": bootstrap})
        for number in range(QUEUED):
            producer.produce(QUEUE, b"%d" % number, partition=0)
        assert producer.flush(SECONDS) == 0
        self.accept()
        self._described = self.describe()

    def _ask(self, group_id: str, request: object, version: int) -> Any:
        """The coordinator's answer, or what it says of the one group, once there is no error."""
        deadline = time.monotonic() + SECONDS
        while True:
            answer = self._ask_once(group_id, request, version)
            if not answer.error_code:
                return answer
            assert answer.error_code in NOT_YET, answer
            assert time.monotonic() < deadline, answer
            time.sleep(0.1)

    def _ask_once(self, group_id: str, request: object, version: int) -> Any:
        find = FindCoordinatorRequest(coordinator_keys=[group_id])
        with Requests(self.bootstrap) as connection:
            (found,) = connection.call(find, 4).coordinators
        if found.error_code:
            return found
        with Requests(f"{found.host}:{found.port}") as connection:
            answer = connection.call(request, version)
        return answer.groups[0] if hasattr(answer, "groups") else answer

    def describe(self) -> list[object]:
        """The groups, as coordinators tell of them, and what the consumers have committed."""
        topic = OffsetFetchRequestTopics(name=QUEUE, partition_indexes=[0])
        wanted = OffsetFetchRequestGroup(group_id=CONSUMERS, topics=[topic])
        return [
            self._ask(CONSUMERS, ConsumerGroupDescribeRequest([CONSUMERS]), 1),
            self._ask(CONSUMERS, OffsetFetchRequest(groups=[wanted]), 9),
            self._ask(STREAMS, StreamsGroupDescribeRequest([STREAMS]), 0),
        ]

    def beat(self, epoch: int | None = None) -> None:
        """The members go on in the epochs that they have, or leave with -1."""
        for group_id, request in (
            (CONSUMERS, ConsumerGroupHeartbeatRequest(CONSUMERS, "c-1", self._member_epoch)),
            (STREAMS, StreamsGroupHeartbeatRequest(STREAMS, "s-1", self._streams_epoch)),
        ):
            if epoch is not None:
                request.member_epoch = epoch
            answer = self._ask(group_id, request, 0)
            assert answer.member_epoch == request.member_epoch, answer

    def leave(self) -> None:
        """The members leave: who has no time to heartbeat does without them."""
        self.beat(-1)
        self._described = self.describe()

    def check(self) -> None:
        """All is as it was, and the queue goes on where it was left."""
        assert self.describe() == self._described
        self.accept()

    def accept(self) -> None:
        """The next records of the queue, and no others."""
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": SHARERS,
            "share.acknowledgement.mode": "explicit",
            "max.poll.records": AT_ONCE,
            "log_level": 0,
        }
        accepted: list[int | None] = []
        deadline = time.monotonic() + SECONDS
        with ShareConsumer(settings) as consumer:
            consumer.subscribe([QUEUE])
            while len(accepted) < AT_ONCE:
                assert time.monotonic() < deadline, accepted
                for message in consumer.poll(0.5):
                    assert message.error() is None, message.error()
                    is_next = len(accepted) < AT_ONCE
                    consumer.acknowledge(
                        message, AcknowledgeType.ACCEPT if is_next else AcknowledgeType.RELEASE
                    )
                    if is_next:
                        accepted.append(message.offset())
                answer = consumer.commit_sync(SECONDS)
                assert not [error for error in answer.values() if error is not None], answer
        assert accepted == [self.accepted + number for number in range(AT_ONCE)]
        self.accepted += AT_ONCE
