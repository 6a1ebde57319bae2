"""Stories about one group whose members come by both protocols, the consumer protocol and the
classic one, and mostly do as they are told: they own what they were assigned, and say so.

So they get further than those of any API: groups move from one protocol to the other and back,
static members are replaced, and topics grow, go and are made again in between.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.broker_side import Side
from conformance.differential.generated_requests.consumer_protocol import Encoded
from conformance.differential.generated_requests.owned import Owned, OwnedByName
from conformance.differential.generated_requests.references import (
    Member,
    MemberEpoch,
    Name,
    resolved,
)
from conformance.differential.generated_requests.requests import Step
from conformance.differential.generated_requests.vocabulary import SESSION_MS, of, often
from conformance.differential.generated_requests.world import World
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ProtocolViolation
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
)
from kafkalite.wire.messages.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
)
from kafkalite.wire.messages.consumer_protocol_assignment import (
    TopicPartition as AssignedPartition,
)
from kafkalite.wire.messages.consumer_protocol_subscription import (
    ConsumerProtocolSubscription,
)
from kafkalite.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from kafkalite.wire.messages.stored import decode
from kafkalite.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

# Names stand where the messages have texts: each story has its own for them.
G: Any = Name("g0")
T0: Any = Name("t0")
T1: Any = Name("t1")
TOPICS = tuple(map(Name, ("t0", "t1", "t2")))
REBALANCE_MS = 300_000


class MixedWorld(World):
    """Remembers what its members were told, too."""

    def learn(self, side: Side, step: Step, answer: Any) -> None:
        super().learn(side, step, answer)
        if answer is None or getattr(answer, "error_code", 1):
            return
        memory, body = self.memories[side], step.body
        if step.api is ApiKey.CONSUMER_GROUP_HEARTBEAT:
            key = resolved(body.group_id, memory), answer.member_id
            if answer.member_epoch <= 0:
                memory.assigned.pop(key, None)
            elif answer.assignment is not None:
                memory.assigned[key] = list(answer.assignment.topic_partitions)
        elif step.api is ApiKey.JOIN_GROUP:
            group = resolved(body.group_id, memory)
            memory.member_epochs[group, answer.member_id] = answer.generation_id
        elif step.api is ApiKey.SYNC_GROUP:
            asked = resolved(body, memory)
            with contextlib.suppress(ProtocolViolation):
                told = decode(ConsumerProtocolAssignment, bytes(answer.assignment))
                memory.assigned[asked.group_id, asked.member_id] = list(told.assigned_partitions)


# A member that comes subscribes to something: when one comes that does not, after another has gone,
# Apache Kafka takes all members for such. A member is static from its first request on, or never:
# to one that becomes it Apache Kafka gives nothing until there is another target.
A, B, C, D, E = (Member(slot, True) for slot in "abcde")
X, Y, Z = Member("x"), Member("y"), Member("z", True)
_modern = of(*[A] * 4, *[B] * 3, C, C, D, E)
_classic = of(*[X] * 4, *[Y] * 3, Z, Z)
_comers = of(*[(A, None)] * 4, *[(B, None)] * 3, (C, "i"), (C, "i"), (D, "i"), (E, "j"))
_joiners = of(*[(X, None)] * 4, *[(Y, "i")] * 3, (Z, None), (Z, None))
_anybody = st.one_of(_modern, _classic)
_epoch = often(MemberEpoch(), MemberEpoch(1), MemberEpoch(-1), -1, times=5)
_names = of(
    *[["t0"]] * 4, ["t0", "t1"], ["t0", "t1"], ["t1"], ["t0", "t1", "t2"], ["t2"], ["t3"]
).map(lambda names: list(map(Name, names)))


def _steps(
    api: ApiKey, versions: Iterable[int], bodies: SearchStrategy[Any]
) -> SearchStrategy[Step]:
    return st.builds(Step, st.just(api), of(*versions), bodies)


def _subscription(topics: list[Name], is_told: bool, epoch: Any, rack: str | None) -> Any:
    owned: Any = OwnedByName() if is_told else []
    return ConsumerProtocolSubscription(
        topics=topics, owned_partitions=owned, generation_id=epoch, rack_id=rack
    )


_subscriptions = st.builds(
    Encoded,
    st.builds(
        _subscription,
        _names,
        often(True, False),
        often(MemberEpoch(), -1, times=2),
        of(None, None, "r"),
    ),
    of(1, 2, 3, 3, 3),
)
_protocols = st.builds(
    lambda names, data: [JoinGroupRequestProtocol(name=n, metadata=data) for n in names],
    of(*[("range",)] * 4, ("cooperative-sticky", "range"), ("range", "sticky"), ("sticky",)),
    _subscriptions,
)


# Expressions that find something are another matter: Apache Kafka looks a moment later.
def _said_by(who: tuple[Any, str | None], **said: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(member_id=who[0], instance_id=who[1], **said)


# Comes or comes anew, with all that a member says.
_coming = st.builds(
    _said_by,
    _comers,
    group_id=st.just(G),
    member_epoch=st.just(0),
    rack_id=of(None, None, "r"),
    rebalance_timeout_ms=st.just(REBALANCE_MS),
    subscribed_topic_names=_names,
    server_assignor=of(None, None, None, "range", "uniform"),
    topic_partitions=of(*[[]] * 6, Owned()),
)
_matching = st.builds(
    ConsumerGroupHeartbeatRequest,
    group_id=st.just(G),
    member_id=of(A, B),
    member_epoch=of(0, MemberEpoch()),
    rebalance_timeout_ms=st.just(REBALANCE_MS),
    subscribed_topic_names=st.just([Name("t1")]),
    subscribed_topic_regex=of("", "["),
    topic_partitions=st.just([]),
)
_staying = st.builds(
    _said_by,
    _comers,
    group_id=st.just(G),
    member_epoch=often(MemberEpoch(), MemberEpoch(1), MemberEpoch(-1), times=7),
    topic_partitions=of(*[Owned()] * 4, None, []),
)
_changing = st.builds(
    _said_by,
    _comers,
    group_id=st.just(G),
    member_epoch=st.just(MemberEpoch()),
    rack_id=of(None, "r", "s"),
    rebalance_timeout_ms=of(-1, REBALANCE_MS),
    subscribed_topic_names=of(None, [Name("t0")], [Name("t0"), Name("t1")], [Name("t2")], []),
    server_assignor=of(None, "range", "uniform"),
    topic_partitions=of(Owned(), Owned(), None),
)
_going = st.builds(
    ConsumerGroupHeartbeatRequest,
    group_id=st.just(G),
    member_id=_modern,
    member_epoch=of(-1, -1, -2),
    instance_id=of(None, None, None, "i", "j"),
)
_joining = st.builds(
    lambda who, protocols, kind: JoinGroupRequest(
        group_id=G,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=REBALANCE_MS,
        member_id=who[0],
        group_instance_id=who[1],
        protocol_type=kind,
        protocols=protocols,
    ),
    _joiners,
    _protocols,
    often("consumer", "connect", times=14),
)
_assignments = st.lists(
    st.builds(
        SyncGroupRequestAssignment,
        member_id=_classic,
        assignment=st.builds(
            Encoded,
            st.builds(
                ConsumerProtocolAssignment,
                assigned_partitions=of(
                    [AssignedPartition(T0, [0])],
                    [AssignedPartition(T0, [1])],
                    [AssignedPartition(T0, [0, 1])],
                    [AssignedPartition(T1, [0])],
                    [],
                ),
            ),
            of(1, 3),
        ),
    ),
    max_size=2,
    unique_by=lambda each: each.member_id,
)
_syncing = st.builds(
    SyncGroupRequest,
    group_id=st.just(G),
    generation_id=often(MemberEpoch(), MemberEpoch(1), MemberEpoch(-1), times=7),
    member_id=_anybody,
    group_instance_id=of(None, None, None, None, "i"),
    protocol_type=of(None, "consumer", "consumer"),
    protocol_name=of(None, "range", "range", "cooperative-sticky"),
    assignments=_assignments,
)
_beating = st.builds(
    HeartbeatRequest,
    group_id=st.just(G),
    generation_id=often(MemberEpoch(), MemberEpoch(1), MemberEpoch(-1), times=7),
    member_id=_anybody,
    group_instance_id=of(None, None, None, None, "i", "j"),
)
_leaving = st.builds(
    LeaveGroupRequest,
    group_id=st.just(G),
    members=st.lists(
        st.builds(
            MemberIdentity,
            member_id=st.one_of(_classic, _anybody, of("")),
            group_instance_id=of(None, None, None, "i", "j"),
        ),
        min_size=1,
        max_size=2,
    ),
)
committing = st.builds(
    OffsetCommitRequest,
    group_id=st.just(G),
    generation_id_or_member_epoch=_epoch,
    member_id=st.one_of(_anybody, of("")),
    group_instance_id=of(None, None, None, None, "i"),
    topics=st.lists(
        st.builds(
            OffsetCommitRequestTopic,
            name=of(*TOPICS),
            partitions=st.lists(
                st.builds(
                    OffsetCommitRequestPartition,
                    partition_index=of(0, 0, 1, 5),
                    committed_offset=st.integers(0, 9),
                ),
                min_size=1,
                max_size=2,
                unique_by=lambda each: each.partition_index,
            ),
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda each: each.name,
    ),
)
_asking = st.builds(
    lambda who, epoch, stable: OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=G,
                member_id=who,
                member_epoch=-1 if who is None else epoch,
                topics=None,
            )
        ],
        require_stable=stable,
    ),
    st.one_of(_anybody, of(None)),
    _epoch,
    st.booleans(),
)
_deleting_offsets = st.builds(
    OffsetDeleteRequest,
    group_id=st.just(G),
    topics=st.lists(
        st.builds(
            OffsetDeleteRequestTopic,
            name=of(*TOPICS),
            partitions=st.just([OffsetDeleteRequestPartition(0), OffsetDeleteRequestPartition(1)]),
        ),
        min_size=1,
        max_size=2,
        unique_by=lambda each: each.name,
    ),
)
_topic = of(*TOPICS, Name("t3"))
_growing = st.builds(
    lambda name, count: CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=None)],
        timeout_ms=30_000,
    ),
    of(*TOPICS),
    st.integers(2, 4),
)
_making = st.builds(
    lambda name, count: CreateTopicsRequest(
        topics=[CreatableTopic(name=name, num_partitions=count, replication_factor=1)],
        timeout_ms=30_000,
    ),
    _topic,
    st.integers(1, 3),
)
_unmaking = st.builds(
    lambda name: DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000), _topic
)
_group_ids: Any = [G]
_CLASSIC = (_steps(ApiKey.JOIN_GROUP, (3, 5, 7, 9, 9), _joining),)
STEPS: tuple[SearchStrategy[Step], ...] = (
    *[_steps(ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1), _coming)] * 4,
    _steps(ApiKey.CONSUMER_GROUP_HEARTBEAT, (1,), _matching),
    *[_steps(ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1), _staying)] * 7,
    *[_steps(ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1), _changing)] * 2,
    *[_steps(ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1), _going)] * 2,
    *_CLASSIC * 7,
    *[_steps(ApiKey.SYNC_GROUP, (3, 5, 5), _syncing)] * 5,
    *[_steps(ApiKey.HEARTBEAT, (3, 4), _beating)] * 4,
    *[_steps(ApiKey.LEAVE_GROUP, (3, 5), _leaving)] * 2,
    *[_steps(ApiKey.OFFSET_COMMIT, (8, 9), committing)] * 2,
    _steps(ApiKey.OFFSET_FETCH, (9,), _asking),
    _steps(ApiKey.OFFSET_DELETE, (0,), _deleting_offsets),
    _steps(
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        (0, 1),
        st.just(ConsumerGroupDescribeRequest(group_ids=_group_ids)),
    ),
    _steps(ApiKey.DESCRIBE_GROUPS, (5, 6), st.just(DescribeGroupsRequest(groups=_group_ids))),
    _steps(ApiKey.LIST_GROUPS, (5,), st.just(ListGroupsRequest())),
    _steps(ApiKey.DELETE_GROUPS, (2,), st.just(DeleteGroupsRequest(groups_names=_group_ids))),
    _steps(ApiKey.CREATE_PARTITIONS, (3,), _growing),
    _steps(ApiKey.CREATE_TOPICS, (7,), _making),
    _steps(ApiKey.DELETE_TOPICS, (5,), _unmaking),
)


def by_range(story: list[Step]) -> list[Step]:
    """With one assignor, for brokers make up the ids of classic members: uniform goes by the order
    of a hash table of ids."""
    return [
        Step(each.api, each.version, replace(each.body, server_assignor="range"))
        if each.api is ApiKey.CONSUMER_GROUP_HEARTBEAT and each.body.member_epoch != -1
        else each
        for each in story
    ]


_modern_only = st.one_of(*(each for each in STEPS if each not in _CLASSIC))
STORIES = st.one_of(
    st.lists(st.one_of(*STEPS), min_size=30, max_size=80).map(by_range),
    st.lists(_modern_only, min_size=30, max_size=80),
)
