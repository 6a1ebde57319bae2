"""A group of the classic protocol: its states, and what it knows of its members.

The members divide the work themselves. They vote for a protocol, and one of them (the leader)
computes the assignment. The coordinator collects the members and hands out the shares. A generation
is one such division.

    Empty                 no members, perhaps offsets
    PreparingRebalance    waiting for all known members to send JoinGroup
    CompletingRebalance   all have joined: waiting for the leader's assignment
    Stable                the assignment is known
    Dead                  deleted, or moved to another coordinator

This module holds the state and keeps it consistent. classic_protocol.py has the requests that
change it. Source of the rules: KIP-62, KIP-345, and Kafka's ClassicGroup.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from typing import Literal

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.classic_member import ClassicMember, sync_refused
from kafkalite.group_coordinator.subscriptions import subscribed_topics_of
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.java_order import in_map_order
from kafkalite.wire.messages.join_group import JoinGroupResponse
from kafkalite.wire.messages.sync_group import SyncGroupResponseRow

CONSUMER_PROTOCOL_TYPE = "consumer"


class ClassicGroupState(Enum):
    """The values are the names that ListGroups and DescribeGroups answer with."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class ClassicGroupEvent(Enum):
    """Events of a group as a whole. The values label the diagram's arrows."""

    REBALANCE_NEEDED = "a member came, changed or went"
    ALL_JOINED = "all members joined"
    ALL_GONE = "no members left"
    ASSIGNED = "the leader's assignment is stored"
    REMOVED = "deleted or unloaded"


State, Event = ClassicGroupState, ClassicGroupEvent

TRANSITIONS: dict[ClassicGroupState, dict[ClassicGroupEvent, ClassicGroupState]] = {
    State.EMPTY: {
        Event.REBALANCE_NEEDED: State.PREPARING_REBALANCE,
        Event.REMOVED: State.DEAD,
    },
    State.PREPARING_REBALANCE: {
        Event.ALL_JOINED: State.COMPLETING_REBALANCE,
        Event.ALL_GONE: State.EMPTY,
        Event.REMOVED: State.DEAD,
    },
    State.COMPLETING_REBALANCE: {
        Event.REBALANCE_NEEDED: State.PREPARING_REBALANCE,
        Event.ASSIGNED: State.STABLE,
        Event.REMOVED: State.DEAD,
    },
    State.STABLE: {
        Event.REBALANCE_NEEDED: State.PREPARING_REBALANCE,
        Event.REMOVED: State.DEAD,
    },
    State.DEAD: {},
}


class ClassicGroup:
    """State and members of one group. `now_ms` stamps state changes (wall clock)."""

    group_type: Literal["classic"] = "classic"

    def __init__(
        self,
        group_id: str,
        *,
        now_ms: int,
        state: ClassicGroupState = State.EMPTY,
        generation_id: int = 0,
        protocol_type: str | None = None,
        protocol_name: str | None = None,
        leader_id: str | None = None,
        made_at: int = -1,
    ) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = State.DEAD
        self.state_changed_at_ms = now_ms
        self.generation_id = generation_id
        self.protocol_type = protocol_type
        self.protocol_name = protocol_name
        self.leader_id = leader_id
        self.members: dict[str, ClassicMember] = {}
        self.member_id_by_instance: dict[str, str] = {}
        self.pending_join: set[str] = set()
        """Ids handed out with MEMBER_ID_REQUIRED and not seen again yet (KIP-394)."""
        self.pending_sync: set[str] = set()
        self.new_member_added = False
        """A member came during the initial delay, which may then be extended."""
        self.subscribed_topics: frozenset[str] | None = None
        """Known for consumer groups only; None is "cannot know"."""
        self.initial_delay_left_ms = 0
        self.made_at = made_at
        """The offset of the record with which it is seen: its own, or, without one, the next."""
        self.phase = Timer(lambda: None)
        """Ends the wait for JoinGroups, later for SyncGroups: see classic_protocol.py."""
        self._awaiting_join_count = 0
        self._supporters: Counter[str] = Counter()

    def on(self, event: ClassicGroupEvent, now_ms: int) -> None:
        """Change state as TRANSITIONS says; refuses (KeyError) what is not in it."""
        self.previous_state, self.state = self.state, TRANSITIONS[self.state][event]
        self.state_changed_at_ms = now_ms

    def can(self, event: ClassicGroupEvent) -> bool:
        return event in TRANSITIONS[self.state]

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def is_consumer_group(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest timeout of all members: the others wait for the slowest."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # Members

    def add(self, member: ClassicMember) -> None:
        """Take in a member, parked or not. Its protocols must have been found supported."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if member.group_instance_id is not None:
            assert member.group_instance_id not in self.member_id_by_instance
            self.member_id_by_instance[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._supporters.update({protocol.name for protocol in member.protocols})
        self._awaiting_join_count += member.answer_join is not None
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Forget a member or a pending one; if it led, the next in line leads."""
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)
        member = self.members.pop(member_id, None)
        if member is None:
            return
        member.session.close()
        self._supporters.subtract({protocol.name for protocol in member.protocols})
        self._awaiting_join_count -= member.answer_join is not None
        if member.group_instance_id is not None:
            del self.member_id_by_instance[member.group_instance_id]
        if self.leader_id == member_id:
            self.leader_id = next(iter(self.members), None)

    def update(self, member: ClassicMember, update: ClassicMember) -> None:
        """Take over from `update` what a JoinGroup may change, and its answer callback."""
        self._supporters.subtract({protocol.name for protocol in member.protocols})
        self._awaiting_join_count -= member.answer_join is not None
        member.protocols = update.protocols
        member.rebalance_timeout_ms = update.rebalance_timeout_ms
        member.session_timeout_ms = update.session_timeout_ms
        member.answer_join = update.answer_join
        self._supporters.update({protocol.name for protocol in member.protocols})
        self._awaiting_join_count += member.answer_join is not None

    def replace_static(self, old: ClassicMember, new_member_id: str) -> None:
        """Give a static member that came back a new id. A request that waits under the old one is
        fenced."""
        assert old.group_instance_id is not None
        self.answer_join(
            old, JoinGroupResponse(member_id=old.member_id, error_code=ErrorCode.FENCED_INSTANCE_ID)
        )
        self.answer_sync(old, sync_refused(ErrorCode.FENCED_INSTANCE_ID))
        del self.members[old.member_id]
        if self.leader_id == old.member_id:
            self.leader_id = new_member_id
        old.member_id = new_member_id
        self.members[new_member_id] = old
        self.member_id_by_instance[old.group_instance_id] = new_member_id

    def validate_member(self, member_id: str, group_instance_id: str | None) -> ClassicMember:
        """The member with these ids, or KafkaError: FENCED_INSTANCE_ID, UNKNOWN_MEMBER_ID
        (KIP-345)."""
        if group_instance_id is not None:
            current = self.member_id_by_instance.get(group_instance_id)
            if current is not None and current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    # Joining

    @property
    def awaiting_join_count(self) -> int:
        return self._awaiting_join_count

    def all_joined(self) -> bool:
        return self._awaiting_join_count == len(self.members) and not self.pending_join

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else choose the first member that has. False if none
        has."""
        leader = self.members.get(self.leader_id) if self.leader_id is not None else None
        if leader is not None and leader.answer_join is not None:
            return True
        joined = (m.member_id for m in self.members.values() if m.answer_join is not None)
        successor = next(joined, None)
        if successor is not None:
            self.leader_id = successor
        return successor is not None

    def start_generation(self, now_ms: int) -> None:
        """Begin the next generation with the members there are."""
        self.generation_id += 1
        self.pending_sync.clear()
        if self.members:
            self.protocol_name = self.select_protocol()
            self.on(Event.ALL_JOINED, now_ms)
        else:
            self.protocol_name = None
            self.on(Event.ALL_GONE, now_ms)
        self.subscribed_topics = self.compute_subscribed_topics()

    def answer_join(self, member: ClassicMember, response: JoinGroupResponse) -> None:
        if member.answer_join is not None:
            answer, member.answer_join = member.answer_join, None
            self._awaiting_join_count -= member.member_id in self.members
            answer(response)

    def answer_sync(self, member: ClassicMember, response: SyncGroupResponseRow) -> None:
        if member.answer_sync is not None:
            answer, member.answer_sync = member.answer_sync, None
            answer(response)

    # Protocols

    def supports(self, protocol_type: str, protocol_names: Iterable[str]) -> bool:
        """True if a member with these protocols can join.

        An empty group takes any. Others take the same protocol type with a protocol that every
        member supports.
        """
        if self.is_empty:
            return bool(protocol_type) and any(True for _ in protocol_names)
        return protocol_type == self.protocol_type and any(
            self._supporters[name] == len(self.members) for name in protocol_names
        )

    def select_protocol(self) -> str:
        """The protocol with the most votes among those that all members support.

        Among equals it is the one that Kafka's table of votes has first.
        """
        everyone = len(self.members)
        candidates = {name for name, count in self._supporters.items() if count == everyone}
        if len(candidates) == 1:  # nearly always; thousands need not be asked
            return candidates.pop()
        votes = Counter(member.vote(candidates) for member in self.members.values())
        most = max(votes.values())
        return next(name for name in in_map_order(votes) if votes[name] == most)

    def compute_subscribed_topics(self) -> frozenset[str] | None:
        """The topics that members subscribe to: none without members, None if it cannot be known.

        That is so if the group is not of consumers, or its metadata are not in Kafka's form, or
        very large. A group of consumers is then taken for one that subscribes to every topic.
        """
        if not self.is_consumer_group:
            return None
        if not self.members:
            return frozenset()
        if self.protocol_name is None:
            return None
        metadata = {
            member_id: member.metadata(self.protocol_name)
            for member_id, member in self.members.items()
        }
        return subscribed_topics_of(self.group_id, metadata)

    def is_subscribed_to(self, topic: str) -> bool:
        if self.subscribed_topics is None:
            return self.is_consumer_group
        return topic in self.subscribed_topics

    # Offsets

    def tombstones(self) -> list[state_log.StateRecord]:
        """The records that end the group in the log."""
        return [state_log.group_tombstone(self.group_id)]

    def validate_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        *,
        is_transactional: bool,
        api_version: int,
    ) -> None:
        """Raise KafkaError unless this caller may commit now (Kafka's
        ClassicGroup.validateOffsetCommit).

        An administrator, or a consumer that is no member, names no generation. It may commit to an
        empty group only.
        """
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if generation_id < 0 and self.state is State.EMPTY:
            return
        if generation_id < 0 and not member_id and group_instance_id is None:
            if is_transactional:
                return  # older versions of TxnOffsetCommit do not say who commits
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        self.validate_member(member_id, group_instance_id)
        if generation_id != self.generation_id:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if self.state is State.COMPLETING_REBALANCE and not is_transactional:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)

    def validate_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Never refused: members of classic groups do not say who they are."""

    def validate_offset_delete(self) -> None:
        """Raise KafkaError while it has members whose subscriptions cannot be known."""
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.state is not State.EMPTY and not self.is_consumer_group:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def validate_delete(self) -> None:
        """Raise KafkaError while it has members."""
        if self.state is State.DEAD:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.state is not State.EMPTY:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def offsets_expire_from(self, committed_at_ms: int) -> int | None:
        """The time from which the retention of an offset counts. None while it does not count
        (KIP-211, 496).

        It is the time when the group became empty. In a simple group, and in a stable consumer
        group whose members do not subscribe to the topic, it is the time of the commit.
        """
        if self.protocol_type is None:
            return committed_at_ms
        if self.state is State.EMPTY:
            return self.state_changed_at_ms
        if self.is_consumer_group and self.state is State.STABLE:
            return committed_at_ms if self.subscribed_topics is not None else None
        return None
