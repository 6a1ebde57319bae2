"""Share groups: records fetched and accepted, and the memory for those that members have."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from uuid import UUID

from conformance.benchmarks.sampling import (
    TIMESTAMP,
    Side,
    cpu_seconds,
    create_topic,
    delete_topic,
    produce_request,
    resident_bytes,
)
from conformance.harness.broker import Broker
from conformance.harness.members import NOT_YET, Requests
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.kafka_uuid import kafka_uuid
from kafkalite.wire.messages import initialize_share_group_state as initializing
from kafkalite.wire.messages import share_acknowledge as acknowledging
from kafkalite.wire.messages import share_fetch as fetching
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.record_batch import Record, build_batch

MB = 1_000_000
RECORD_BYTES = 100
BATCH = 500  # records, and as many as a consumer asks for at once
ACCEPT = 1
SHARE_KEY = 2
SECONDS = 60.0
FETCH_VERSION = ACKNOWLEDGE_VERSION = 2

# First and last offset of records that were acquired, by partition.
Acquired = dict[int, list[tuple[int, int]]]


def fill(connection: Requests, topic: str, partitions: int, batches: int) -> None:
    records = build_batch([Record(0, TIMESTAMP, None, b"x" * RECORD_BYTES, [])] * BATCH)
    for partition in range(partitions):
        request = produce_request(topic, partition, records)
        for _ in range(batches):
            answer = connection.call(request, 12).responses[0].partition_responses[0]
            assert answer.error_code == ErrorCode.NONE, answer


def begin(connection: Requests, group_id: str, topic_id: UUID, partitions: int) -> None:
    """Let a new group begin at the start of each partition."""
    keys = [f"{group_id}:{kafka_uuid(topic_id)}:{index}" for index in range(partitions)]
    find = FindCoordinatorRequest(key_type=SHARE_KEY, coordinator_keys=keys)
    asked = [
        initializing.PartitionData(partition=index, state_epoch=1, start_offset=0)
        for index in range(partitions)
    ]
    data = initializing.InitializeStateData(topic_id=topic_id, partitions=asked)
    request = initializing.InitializeShareGroupStateRequest(group_id=group_id, topics=[data])
    deadline = time.monotonic() + SECONDS
    while True:
        connection.call(find, 6)
        codes = {
            each.error_code
            for result in connection.call(request, 0).results
            for each in result.partitions
        }
        if codes == {ErrorCode.NONE}:
            return
        assert codes <= {ErrorCode.NONE, *NOT_YET}, codes
        assert time.monotonic() < deadline, codes
        time.sleep(0.05)


class Member:
    """A member of a share group with a session of its own; a request accepts what came before."""

    def __init__(
        self, connection: Requests, group_id: str, topic_id: UUID, partitions: Sequence[int]
    ) -> None:
        self.connection, self.group_id, self.topic_id = connection, group_id, topic_id
        self.partitions = partitions
        self.member_id = kafka_uuid(uuid.uuid4())
        self.epoch = 0
        self.acquired: Acquired = {}

    def ask(self, most: int = BATCH, *, accepts: bool = True) -> None:
        """Send a ShareFetch."""
        said = self.acquired if accepts else {}
        partitions = [
            fetching.FetchPartition(
                partition_index=index,
                acknowledgement_batches=[
                    fetching.AcknowledgementBatch(
                        first_offset=first, last_offset=last, acknowledge_types=[ACCEPT]
                    )
                    for first, last in said.get(index, ())
                ],
            )
            for index in (self.partitions if self.epoch == 0 else said)
        ]
        topics = [fetching.FetchTopic(topic_id=self.topic_id, partitions=partitions)]
        request = fetching.ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.epoch,
            max_wait_ms=500,
            min_bytes=1,
            max_records=most,
            batch_size=BATCH,
            topics=topics if partitions else [],
        )
        self.epoch += 1
        self.connection.ask_for(request, FETCH_VERSION)

    def take(self) -> int:
        """The answer: the number of records that were acquired."""
        answer = self.connection.answer(ApiKey.SHARE_FETCH, FETCH_VERSION)
        assert answer.error_code == ErrorCode.NONE, answer
        self.acquired = {}
        for topic in answer.responses:
            for each in topic.partitions:
                codes = {each.error_code, each.acknowledge_error_code}
                assert codes == {ErrorCode.NONE}, codes
                batches = [(got.first_offset, got.last_offset) for got in each.acquired_records]
                if batches:
                    self.acquired[each.partition_index] = batches
        return sum(
            last - first + 1 for batches in self.acquired.values() for first, last in batches
        )

    def accept_one_of_each(self, acquired: Acquired) -> None:
        """Accept the last record of each batch, so that its records no longer stand alike."""
        partitions = [
            acknowledging.AcknowledgePartition(
                partition_index=index,
                acknowledgement_batches=[
                    acknowledging.AcknowledgementBatch(
                        first_offset=last, last_offset=last, acknowledge_types=[ACCEPT]
                    )
                    for _, last in batches
                ],
            )
            for index, batches in acquired.items()
        ]
        request = acknowledging.ShareAcknowledgeRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self.epoch,
            topics=[acknowledging.AcknowledgeTopic(topic_id=self.topic_id, partitions=partitions)],
        )
        self.epoch += 1
        answer = self.connection.call(request, ACKNOWLEDGE_VERSION)
        codes = {each.error_code for topic in answer.responses for each in topic.partitions}
        assert {answer.error_code, *codes} == {ErrorCode.NONE}, answer


class Taking:
    """100 MB in eight partitions, taken by a new group each time; each fetch accepts the last."""

    PARTITIONS = 8

    def __init__(self, side: Side, *, members: int) -> None:
        self.broker, self.members = side.broker, members
        self.batches = 250 // (25 if side.quick else 1)
        self.topic = f"queue-{uuid.uuid4().hex[:8]}"
        self.topic_id = create_topic(self.broker, self.topic, self.PARTITIONS)
        with Requests(self.broker.bootstrap) as connection:
            fill(connection, self.topic, self.PARTITIONS, self.batches)
        self.sample()  # warm

    def sample(self) -> dict[str, float]:
        group_id = uuid.uuid4().hex
        wanted = self.PARTITIONS * self.batches * BATCH
        each = self.PARTITIONS // self.members
        with ExitStack() as stack:
            connections = [
                stack.enter_context(Requests(self.broker.bootstrap, SECONDS))
                for _ in range(self.members)
            ]
            begin(connections[0], group_id, self.topic_id, self.PARTITIONS)
            members = [
                Member(each_connection, group_id, self.topic_id, range(i * each, (i + 1) * each))
                for i, each_connection in enumerate(connections)
            ]
            before, began = cpu_seconds(self.broker.pid), time.perf_counter()
            taken = dict.fromkeys(members, 0)
            for member in members:
                member.ask()
            while taken:
                for member in list(taken):
                    taken[member] += member.take()
                    if taken[member] < wanted // self.members:
                        member.ask()
                    else:
                        del taken[member]
            seconds = time.perf_counter() - began
            cpu = cpu_seconds(self.broker.pid) - before
        return {
            "MB/s": wanted * RECORD_BYTES / MB / seconds,
            "records per CPU s": wanted / max(cpu, 0.01),
        }

    def close(self) -> None:
        delete_topic(self.broker, self.topic)


# The most records that a share partition may have in flight.
LOCKS = 10_000
PATIENT = {
    "group.share.max.partition.max.record.locks": f"{LOCKS}",
    "group.share.partition.max.record.locks": f"{LOCKS}",
    "group.share.max.record.lock.duration.ms": "3600000",
    "group.share.record.lock.duration.ms": "3600000",
}


class InFlight:
    """A million records with one member: as they were delivered, and when they differ."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.partitions = 2 if side.quick else 100

    def sample(self) -> dict[str, float]:
        broker = self.side.start(PATIENT)
        try:
            return self._grown(broker)
        finally:
            self.side.stop(broker)

    def _grown(self, broker: Broker) -> dict[str, float]:
        topic = f"queue-{uuid.uuid4().hex[:8]}"
        topic_id = create_topic(broker, topic, self.partitions)
        with Requests(broker.bootstrap, SECONDS) as connection:
            fill(connection, topic, self.partitions, LOCKS // BATCH)
            group_id = uuid.uuid4().hex
            begin(connection, group_id, topic_id, self.partitions)
            member = Member(connection, group_id, topic_id, range(self.partitions))
            acquired: Acquired = {}
            idle, count = resident_bytes(broker.pid), 0
            while count < self.partitions * LOCKS:
                member.ask(LOCKS, accepts=False)
                count += member.take()
                for partition, batches in member.acquired.items():
                    acquired.setdefault(partition, []).extend(batches)
            alike = resident_bytes(broker.pid)
            member.accept_one_of_each(acquired)
            apart = resident_bytes(broker.pid)
        return {"MB as batches": (alike - idle) / MB, "MB apart": (apart - idle) / MB}

    def close(self) -> None:
        pass
