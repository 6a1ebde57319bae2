"""The cost of members that only heartbeat: `python -m conformance.benchmarks.heartbeats`.

A thousand members of each protocol heartbeat once a second, evenly spread, each heartbeat in a
frame of its own that is answered before the next is sent: the broker wakes up for every one. The
figure is the broker's CPU time as a share of one core. The members leave in the end: the end of
their sessions is not to be paid for by the next ones.
"""

import argparse
import itertools
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from confluent_kafka.admin import AdminClient, NewTopic

from conformance.benchmarks.sampling import Side, cpu_seconds, create_topic, delete_topic
from conformance.harness.apache_kafka import ServerKafka
from conformance.harness.broker import Broker
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.members import ClassicMember, Requests, find_coordinators, join_all
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    Subtopology,
    TaskIds,
    Topology,
)

MEMBERS = 1000
GROUPS = 20  # classic members have a group each
CONNECTIONS = 20
TOPIC = "shared"
ROUNDS = 20
BAR_PERCENT = 10
LEAVE_EPOCH = -1

Beat = Callable[[], None]


class Crowd(NamedTuple):
    """Members that only heartbeat: a heartbeat of each, and how all of them leave."""

    beats: list[Beat]
    leave: Callable[[], None]


class Member(Protocol):
    """A member of a group of several."""

    version: int
    connection: Requests
    request: Any

    def beat(self, *, with_all: bool = False) -> bool:
        """True if it was told something new; in between, a heartbeat says only who and when."""
        ...


class ConsumerMember:
    """A member of the consumer protocol, who gives up and takes what it is told at once."""

    version = 1

    def __init__(self, group_id: str, connection: Requests, topic: str) -> None:
        self.connection, self.topic = connection, topic
        self.request = ConsumerGroupHeartbeatRequest(
            group_id=group_id, member_id=uuid.uuid4().hex, member_epoch=0
        )

    def beat(self, *, with_all: bool = False) -> bool:
        self.request.rebalance_timeout_ms = 30_000 if with_all else -1
        self.request.subscribed_topic_names = [self.topic] if with_all else None
        if with_all:
            self.request.topic_partitions = []
        answer = self.connection.call(self.request, self.version)
        assert answer.error_code == ErrorCode.NONE, answer
        is_news = answer.member_epoch != self.request.member_epoch or bool(answer.assignment)
        self.request.member_epoch = answer.member_epoch
        self.request.topic_partitions = None
        if answer.assignment:
            self.request.topic_partitions = [
                TopicPartitions(topic_id=topic.topic_id, partitions=topic.partitions)
                for topic in answer.assignment.topic_partitions
            ]
        return is_news


class ShareMember:
    """A member of a share group."""

    version = 1

    def __init__(self, group_id: str, connection: Requests, topic: str) -> None:
        self.connection, self.topic = connection, topic
        self.request = ShareGroupHeartbeatRequest(
            group_id=group_id, member_id=uuid.uuid4().hex, member_epoch=0
        )

    def beat(self, *, with_all: bool = False) -> bool:
        self.request.subscribed_topic_names = [self.topic] if with_all else None
        answer = self.connection.call(self.request, self.version)
        assert answer.error_code == ErrorCode.NONE, answer
        is_news = answer.member_epoch != self.request.member_epoch or bool(answer.assignment)
        self.request.member_epoch = answer.member_epoch
        return is_news


class StreamsMember:
    """A member of a streams group of one subtopology, who does as it is told at once."""

    version = 0

    def __init__(self, group_id: str, connection: Requests, topic: str) -> None:
        self.connection = connection
        subtopology = Subtopology(subtopology_id="0", source_topics=[topic])
        self.topology = Topology(epoch=0, subtopologies=[subtopology])
        member_id = uuid.uuid4().hex
        self.request = StreamsGroupHeartbeatRequest(
            group_id=group_id, member_id=member_id, member_epoch=0, process_id=member_id
        )

    def beat(self, *, with_all: bool = False) -> bool:
        if with_all:
            self._own([])
        self.request.rebalance_timeout_ms = 30_000 if with_all else -1
        self.request.topology = self.topology if with_all else None
        answer = self.connection.call(self.request, self.version)
        assert answer.error_code == ErrorCode.NONE, answer
        is_news = answer.member_epoch != self.request.member_epoch or bool(answer.active_tasks)
        self.request.member_epoch = answer.member_epoch
        self._own(answer.active_tasks or None)
        return is_news

    def _own(self, tasks: list[TaskIds] | None) -> None:
        self.request.active_tasks = tasks
        nothing: list[TaskIds] | None = None if tasks is None else []
        self.request.standby_tasks = self.request.warmup_tasks = nothing


def classic(connections: list[Requests], topic: str) -> Crowd:
    turn = itertools.cycle(connections)
    name = uuid.uuid4().hex
    members = [ClassicMember(f"{name}-{i}", next(turn)) for i in range(MEMBERS)]
    find_coordinators(connections[0], [member.group_id for member in members])
    join_all(members)

    def beat(member: ClassicMember) -> None:
        answer = member.connection.call(member.heartbeat_request(), 4)
        assert answer.error_code == ErrorCode.NONE, answer

    def leave() -> None:
        for member in members:
            gone = [MemberIdentity(member_id=member.member_id)]
            request = LeaveGroupRequest(group_id=member.group_id, members=gone)
            answer = member.connection.call(request, 4)
            assert answer.error_code == ErrorCode.NONE, answer

    return Crowd([partial(beat, member) for member in members], leave)


def modern(
    make: Callable[[str, Requests, str], Member], connections: list[Requests], topic: str
) -> Crowd:
    """Members of GROUPS groups, each with all that it is to have."""
    turn = itertools.cycle(connections)
    names = [uuid.uuid4().hex for _ in range(GROUPS)]
    find_coordinators(connections[0], names)
    members = [make(names[i % GROUPS], next(turn), topic) for i in range(MEMBERS)]
    for member in members:
        member.beat(with_all=True)
    for _ in range(ROUNDS):
        news = [member.beat() for member in members]
        if not any(news):
            break

    def leave() -> None:
        for member in members:
            member.request.member_epoch = LEAVE_EPOCH
            answer = member.connection.call(member.request, member.version)
            assert answer.error_code == ErrorCode.NONE, answer

    return Crowd([partial(beat_still, member) for member in members], leave)


def beat_still(member: Member) -> None:
    assert not member.beat(), "the group was not stable"


PROTOCOLS: dict[str, Callable[[list[Requests], str], Crowd]] = {
    "classic": classic,
    "consumer": partial(modern, ConsumerMember),
    "share": partial(modern, ShareMember),
    "streams": partial(modern, StreamsMember),
}


def measure(broker: Broker, beats: list[Beat], seconds: float) -> tuple[float, float]:
    """Heartbeats per second, and the broker's share of a core in percent."""
    count = int(len(beats) * seconds)
    before, began = cpu_seconds(broker.pid), time.perf_counter()
    for number, beat in zip(range(count), itertools.cycle(beats), strict=False):
        early = began + number / len(beats) - time.perf_counter()
        if early > 0:
            time.sleep(early)
        beat()
    took = time.perf_counter() - began
    return count / took, 100 * (cpu_seconds(broker.pid) - before) / took


class Living:
    """The same as a measure of `make bench`: every sample has members of its own."""

    def __init__(self, side: Side, *, protocol: str) -> None:
        self.broker = side.broker
        self.members_of = PROTOCOLS[protocol]
        self.seconds = 1.0 if side.quick else 5.0
        self.topic = f"{TOPIC}-{uuid.uuid4().hex[:8]}"
        create_topic(self.broker, self.topic, MEMBERS // GROUPS)

    def sample(self) -> dict[str, float]:
        with ExitStack() as stack:
            connections = connected(self.broker, stack)
            crowd = self.members_of(connections, self.topic)
            rate, percent = measure(self.broker, crowd.beats, self.seconds)
            crowd.leave()
        return {"% of a core": percent, "heartbeats/s": rate}

    def close(self) -> None:
        delete_topic(self.broker, self.topic)


def connected(broker: Broker, stack: ExitStack) -> list[Requests]:
    return [stack.enter_context(Requests(broker.bootstrap)) for _ in range(CONNECTIONS)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--alone", action="store_true", help="kafkalite without Apache Kafka")
    arguments = parser.parse_args()
    kinds: list[Callable[[Path], Broker]] = [Kafkalite]
    if not arguments.alone:
        kinds.append(ServerKafka)
    for kind in kinds:
        with ExitStack() as stack:
            broker = kind(Path(stack.enter_context(tempfile.TemporaryDirectory())))
            stack.callback(broker.stop)
            admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
            topic = NewTopic(TOPIC, MEMBERS // GROUPS, 1)
            admin.create_topics([topic])[TOPIC].result()
            for protocol, members_of in PROTOCOLS.items():
                with ExitStack() as open_connections:
                    crowd = members_of(connected(broker, open_connections), TOPIC)
                    rate, percent = measure(broker, crowd.beats, arguments.seconds)
                    crowd.leave()
                print(
                    f"{broker.kind}: {MEMBERS} {protocol} members, "
                    f"{rate:.0f} heartbeats/s: {percent:.1f} % of a core (bar: {BAR_PERCENT} %)",
                    flush=True,
                )


if __name__ == "__main__":
    main()
