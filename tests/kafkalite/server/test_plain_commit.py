"""The short way from an OffsetCommit frame to its answer is equal to the declared one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.broker import Broker
from kafkalite.clock import SystemClock
from kafkalite.cluster.internal_topics import OFFSETS_TOPIC
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.config import BrokerConfig
from kafkalite.server.dispatch import Dispatcher
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response, encode_request
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.stored import encode
from kafkalite.wire.messages.stored.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

NODE_ID = 1
NOW_MS = 1_700_000_000_000
TOPICS, PARTITIONS = ("a", "topic"), 2
CLASSIC, CONSUMER, SIMPLE = "classic", "consumer", "simple"
MEMBER, STATIC_MEMBER, INSTANCE, GENERATION = "member-1", "member-2", "instance", 3


class Side:
    """A broker whose clock stands still, with a group of each kind."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        properties = {
            "log.dirs": str(directory),
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "offsets.topic.num.partitions": "1",
            "offset.metadata.max.bytes": "100",
        }
        self.broker = stack.enter_context(Broker(BrokerConfig(properties), clock=SystemClock(lambda: NOW_MS)))
        self.dispatcher = Dispatcher(self.broker.services, None)
        listener = SimpleNamespace(node_id=NODE_ID, name="PLAINTEXT")
        self.connection: Any = SimpleNamespace(
            listener=listener, client_host="127.0.0.1", last_active=0.0
        )
        self.seconds = 0.0

    def prepare(self) -> None:
        """The topics, and a stable classic group."""
        for name in TOPICS:
            self.broker.services.topics.create(NewTopic(name, PARTITIONS, 1))
        self.broker.services.topics.create_internal(OFFSETS_TOPIC)
        members = [
            MemberMetadata(
                member_id=member_id,
                group_instance_id=instance_id,
                session_timeout=30_000,
                rebalance_timeout=30_000,
            )
            for member_id, instance_id in ((MEMBER, None), (STATIC_MEMBER, INSTANCE))
        ]
        value = GroupMetadataValue(
            protocol_type="consumer",
            generation=GENERATION,
            protocol="range",
            leader=MEMBER,
            members=members,
        )
        record = encode(GroupMetadataKey(group=CLASSIC)), encode(value, 3)
        self.broker.services.group_coordinator.log.append(0, [record])

    def run(self) -> None:
        """Coordinate, without tasks; members of the new protocol join, and one who only has a name."""
        coordinator: Any = self.broker.services.group_coordinator
        coordinator._timers.clock = lambda: self.seconds
        coordinator._running = True
        coordinator.leaders_changed()
        for names in (["a"], ["a", "topic"]):  # "topic" is assigned in a later epoch
            beat = ConsumerGroupHeartbeatRequest(
                group_id=CONSUMER,
                member_id=MEMBER,
                member_epoch=0,
                rebalance_timeout_ms=30_000,
                subscribed_topic_names=names,
                topic_partitions=[],
            )
            self.declared(framed(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, beat))
        self.declared(frame_of(SIMPLE, 9, [("a", [(0, 1, -1, "")])], "", -1))

    def short(self, frame: bytes, *, as_view: bool = False) -> Any:
        return self.dispatcher.straight(self.connection, memoryview(frame) if as_view else frame)

    def declared(self, frame: bytes) -> Any:
        try:
            self.dispatcher.answer(self.connection, frame).send(None)
        except StopIteration as done:
            return b"".join(map(bytes, done.value))
        except ProtocolViolation as error:
            return type(error)
        raise AssertionError("it waited")

    @property
    def log_end_offset(self) -> int:
        return self.broker.services.group_coordinator.log.end_offset(0)

    def written(self) -> bytes:
        """`__consumer_offsets`, as it lies on the disk."""
        topic = self.broker.services.topics.get(OFFSETS_TOPIC)
        assert topic is not None
        log = topic.partitions[0].log
        assert topic.partitions[0].high_watermark == log.log_end_offset
        return b"".join(path.read_bytes() for path in sorted(log.directory.glob("*.log")))

    def known(self) -> Any:
        """What the coordinator remembers of offsets, and of when it heard of members."""
        coordinator: Any = self.broker.services.group_coordinator
        shard = coordinator.shard_of(CLASSIC, NODE_ID)
        offsets = {group_id: shard.offsets.of_group(group_id) for group_id in shard.groups}
        members = shard.groups[CLASSIC].members.values()
        return offsets, [member.session.deadline for member in members]


class Pair:
    """Two brokers with the same data. One goes the short way, where it goes."""

    def __init__(self, root: Path, stack: ExitStack) -> None:
        with ExitStack() as first:
            Side(root / "short", first).prepare()
        shutil.copytree(root / "short", root / "declared")
        self.short = Side(root / "short", stack)
        self.declared = Side(root / "declared", stack)
        for side in (self.short, self.declared):
            side.run()
        topics = self.short.broker.services.topics
        self.ids = {topic.name: topic.topic_id for topic in topics.all()}

    def ask(self, frame: bytes, *, as_view: bool = False) -> bool:
        """Ask both, and compare; whether the short way was taken."""
        for side in (self.short, self.declared):
            side.seconds += 0.001
        before = self.short.log_end_offset
        answer = short = self.short.short(frame, as_view=as_view)
        if short is None:
            assert self.short.log_end_offset == before, "it had begun"
            answer = self.short.declared(frame)
        assert answer == self.declared.declared(frame)
        assert self.short.known() == self.declared.known()
        return short is not None


def framed(key: ApiKey, version: int, body: object, client_id: str | None = "test") -> bytes:
    return b"".join(map(bytes, encode_request(key, version, 77, client_id, body)))[4:]


def frame_of(
    group_id: str,
    version: int,
    topics: list[tuple[str, list[tuple[int, int, int, str | None]]]],
    member_id: str = MEMBER,
    generation: int = GENERATION,
    instance_id: str | None = None,
    client_id: str | None = "test",
    ids: Any = None,
) -> bytes:
    body = OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=generation,
        member_id=member_id,
        group_instance_id=instance_id if version >= 7 else None,
        topics=[
            OffsetCommitRequestTopic(
                name=name,
                topic_id=(ids or {}).get(name, NOBODY),
                partitions=[OffsetCommitRequestPartition(*each) for each in partitions],
            )
            for name, partitions in topics
        ],
    )
    return framed(ApiKey.OFFSET_COMMIT, version, body, client_id)


NOBODY = UUID(int=7)
PARTITION = st.tuples(
    st.sampled_from([0, 1, 0, 1, 0, 1, PARTITIONS, -1]),
    st.integers(-(2**63), 2**63 - 1),
    st.sampled_from([-1, 0, 5]),
    st.sampled_from(["", "", "m", "é" * 63, "x" * 100, "x" * 101, "x" * 126, "x" * 300, None]),
)
NAMES = st.sampled_from([*TOPICS, *TOPICS, *TOPICS, OFFSETS_TOPIC, "nobody's"])
FRAMES = st.fixed_dictionaries(
    {
        "group_id": st.sampled_from([CLASSIC, CLASSIC, CONSUMER, CONSUMER, SIMPLE, "", "x" * 200]),
        "version": st.sampled_from([2, 7, 8, 9, 9, 9, 10, 10, 10]),
        "topics": st.lists(st.tuples(NAMES, st.lists(PARTITION, max_size=3)), max_size=3),
        "member_id": st.sampled_from([MEMBER, MEMBER, MEMBER, STATIC_MEMBER, "", "x" * 130]),
        "generation": st.sampled_from([GENERATION, GENERATION, 1, 2, 0, -1]),
        "instance_id": st.sampled_from([None, None, None, INSTANCE, "x" * 130]),
        "client_id": st.sampled_from(["test", "test", "", "tést", None]),
    }
)
CHANGES = st.none() | st.none() | st.tuples(st.integers(4, 120), st.integers(0, 255))


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    with ExitStack() as stack:
        root = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        yield Pair(root, stack)


@settings(deadline=None, max_examples=600)
@given(
    request=FRAMES, change=CHANGES, cut=st.sampled_from([0, 0, 0, 1, 9, -1]), as_view=st.booleans()
)
def test_it_is_equal_to_the_declared_way(
    pair: Pair,
    request: dict[str, Any],
    change: tuple[int, int] | None,
    cut: int,
    as_view: bool,
) -> None:
    frame = bytearray(frame_of(**request, ids=pair.ids))
    if change is not None and change[0] < len(frame):
        frame[change[0]] = change[1]
    if cut > 0:
        del frame[-cut:]
    elif cut < 0:
        frame += b"\0"
    pair.ask(bytes(frame), as_view=as_view)


def test_what_is_written_is_equal(pair: Pair) -> None:
    """After all of the above, when this file is run in its order; and after these, in any."""
    for offset in range(20):
        topics: Any = [(name, [(i, offset, -1, "m") for i in range(PARTITIONS)]) for name in TOPICS]
        assert pair.ask(frame_of(CLASSIC, 8 + offset % 3, topics, ids=pair.ids))
    assert pair.short.written() == pair.declared.written()


@pytest.mark.parametrize("version", [8, 9, 10])
@pytest.mark.parametrize(
    ("group_id", "member_id", "instance_id"),
    [(CLASSIC, MEMBER, None), (CLASSIC, STATIC_MEMBER, INSTANCE), (SIMPLE, "", None)],
)
def test_it_is_taken_where_it_goes(
    pair: Pair, version: int, group_id: str, member_id: str, instance_id: str | None
) -> None:
    generation = -1 if group_id == SIMPLE else GENERATION
    accepted(pair, version, group_id, member_id, generation, instance_id)


@pytest.mark.parametrize("version", [9, 10])
def test_it_is_taken_by_members_of_the_new_protocol(pair: Pair, version: int) -> None:
    coordinator: Any = pair.short.broker.services.group_coordinator
    members = coordinator.shard_of(CONSUMER, NODE_ID).groups[CONSUMER].members
    accepted(pair, version, CONSUMER, MEMBER, members[MEMBER].member_epoch, None)


def accepted(
    pair: Pair,
    version: int,
    group_id: str,
    member_id: str,
    generation: int,
    instance_id: str | None,
) -> None:
    for metadata in ("", None, "é" * 63, "x" * 100):
        topics: Any = [
            ("topic", [(1, 5, 0, metadata), (0, 2**63 - 1, -1, "")]),
            ("a", [(0, 0, 0, "")]),
        ]
        frame = frame_of(
            group_id, version, topics, member_id, generation, instance_id, ids=pair.ids
        )
        assert pair.ask(frame)
        answer = decode_response(ApiKey.OFFSET_COMMIT, version, pair.short.short(frame)[4:])[1]
        assert pair.declared.declared(frame)
        codes = [each.error_code for topic in answer.topics for each in topic.partitions]
        assert codes == [0, 0, 0]


def test_it_is_not_taken_when_requests_are_measured(pair: Pair) -> None:
    measuring = Dispatcher(pair.short.broker.services, lambda api, handler: handler)
    frame = frame_of(CLASSIC, 9, [("a", [(0, 1, -1, "")])])
    assert measuring.straight(pair.short.connection, frame) is None
