"""Stories about share and streams groups that were in no script, told to three nodes.

Each request goes to the node that it is for. Leaders of share partitions move, and members ask
nodes that lead nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from conformance.differential.cluster.test_coordinators import GROUP, TRANSACTION, coordinator
from conformance.differential.cluster.test_leaders import elect, reassign
from conformance.differential.cluster.test_queues import keeper_of
from conformance.differential.cluster.topics import NODES, create
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests import streams_stories, streams_world
from conformance.differential.generated_requests.queue_stories import STEPS, Queue, Step
from conformance.differential.generated_requests.streams_world import Streams
from conformance.differential.generated_requests.taker import Taker
from conformance.differential.generated_requests.telling import limits_of, tell_all
from conformance.differential.generated_requests.vocabulary import of
from conformance.differential.share_requests import ACCEPT, Member
from conformance.differential.test_generated import Seeded, seeded
from conformance.differential.test_share_states import make_share_states
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

__all__ = ["seeded"]  # the fixture

OF_LEADERS = (
    ApiKey.PRODUCE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.DELETE_RECORDS,
)
OF_GROUPS = (
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    ApiKey.STREAMS_GROUP_DESCRIBE,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.OFFSET_DELETE,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.DELETE_GROUPS,
    ApiKey.LIST_GROUPS,
)
OF_STATES = (
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
)
OF_TRANSACTIONS = (
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.END_TXN,
    ApiKey.DESCRIBE_TRANSACTIONS,
)
LATEST = -1
# Three nodes take their time: ten a second on a quiet machine.
REQUESTS = 200
# A new leader reads the state of a share partition from another node before it has records.
NEW_LEADER_MS = 2000
_numbers = itertools.count(1)


def route(pair: Pair, apis: Sequence[ApiKey], node: int) -> None:
    for side in pair.sides:
        side.routes.update(dict.fromkeys(apis, node))


@dataclass
class SpreadQueue(Queue):
    """A queue whose leader, group and state are each on one of three nodes."""

    leader: int = 1

    @property
    def follower(self) -> int:
        return self.leader % len(NODES) + 1

    def place(self) -> None:
        create(self.pair, self.name, [[self.leader, self.follower]])
        route(self.pair, OF_LEADERS, self.leader)
        route(self.pair, OF_GROUPS, coordinator(self.pair, self.name, GROUP))
        route(self.pair, OF_TRANSACTIONS, coordinator(self.pair, self.name, TRANSACTION))
        for side in self.pair.sides:  # by the topic's id
            side.routes.update(dict.fromkeys(OF_STATES, keeper_of(side, self.name, self.name)))


@dataclass(frozen=True)
class Move(Step):
    """Another node leads; the members begin new sessions with it."""

    def tell(self, queue: Queue) -> None:
        assert isinstance(queue, SpreadQueue)
        pair = queue.pair
        leader = queue.leader % len(NODES) + 1
        reassign(pair, queue.name, {0: [leader, leader % len(NODES) + 1]})
        elect(pair, queue.name, [0])
        queue.leader = leader
        queue.wait_ms = NEW_LEADER_MS
        route(pair, OF_LEADERS, leader)
        for side in pair.sides:
            side.until_no_error(ApiKey.LIST_OFFSETS, 8, latest(queue.name), leader)
        queue.takers = {
            name: Taker(Member(pair, queue.name, queue.name, name)) for name in queue.takers
        }


def latest(topic: str) -> ListOffsetsRequest:
    """Apache Kafka's leader answers it once it knows what all have, a moment after its election."""
    partition = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    topics = [ListOffsetsTopic(name=topic, partitions=[partition])]
    return ListOffsetsRequest(replica_id=-1, topics=topics)


@dataclass(frozen=True)
class Stray(Step):
    """A member asks a node that does not lead."""

    later: int

    def tell(self, queue: Queue) -> None:
        assert isinstance(queue, SpreadQueue)
        node = (queue.leader - 1 + self.later) % len(NODES) + 1
        stray = Member(queue.pair, queue.name, queue.name, f"stray@{node}")
        stray.fetch()
        stray.say((0, 0, ACCEPT))
        stray.fetch(epoch=-1, without_topics=True)


ELSEWHERE: tuple[SearchStrategy[Step], ...] = (
    *STEPS,
    st.one_of(st.builds(Move), st.builds(Stray, of(1, 2))),
)
STORIES = st.lists(st.one_of(*ELSEWHERE), min_size=15, max_size=40)


def test_queues(
    cluster: Pair, seeded: Seeded, pytestconfig: pytest.Config, unique: Callable[[str], str]
) -> None:
    make_share_states(cluster)

    def told(story: Sequence[Step]) -> None:
        number = next(_numbers)
        queue = SpreadQueue(cluster, unique(f"queue-{number}"), leader=number % len(NODES) + 1)
        queue.open()
        queue.tell(story)

    tell_all(cluster, told, STORIES, seeded, limits_of(pytestconfig, REQUESTS))


class SpreadStreams(Streams):
    """A streams group whose coordinator is one of three nodes, and its partitions on all."""

    def place(self, *topics: str) -> None:
        for topic in topics:
            create(self.pair, topic)
        route(self.pair, OF_GROUPS, coordinator(self.pair, self.name, GROUP))


def test_streams(
    cluster: Pair, seeded: Seeded, pytestconfig: pytest.Config, unique: Callable[[str], str]
) -> None:
    def told(story: Sequence[streams_world.Step]) -> None:
        streams = SpreadStreams(cluster, unique(f"streams-{next(_numbers)}"))
        streams.open()
        streams.tell(story)

    tell_all(cluster, told, streams_stories.STORIES, seeded, limits_of(pytestconfig, REQUESTS))
