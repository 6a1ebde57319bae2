"""Every state with every event: the tables themselves, and what the requests make of them."""

from dataclasses import dataclass, field

import pytest

from kafkalite.group_coordinator.classic_group import (
    TRANSITIONS,
    ClassicGroup,
    ClassicGroupEvent,
    ClassicGroupState,
)
from kafkalite.group_coordinator.classic_protocol import ClassicProtocol
from kafkalite.group_coordinator.config import GroupConfig
from kafkalite.group_coordinator.group_overrides import GroupOverrides
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.timers import Timers
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import MemberIdentity
from kafkalite.wire.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafkalite.wire.rows import message_of_row, rows_of
from tests.group_coordinator.in_memory import MemoryTopics

State, Event = ClassicGroupState, ClassicGroupEvent

NEXT = {
    (State.EMPTY, Event.REBALANCE_NEEDED): State.PREPARING_REBALANCE,
    (State.EMPTY, Event.REMOVED): State.DEAD,
    (State.PREPARING_REBALANCE, Event.ALL_JOINED): State.COMPLETING_REBALANCE,
    (State.PREPARING_REBALANCE, Event.ALL_GONE): State.EMPTY,
    (State.PREPARING_REBALANCE, Event.REMOVED): State.DEAD,
    (State.COMPLETING_REBALANCE, Event.REBALANCE_NEEDED): State.PREPARING_REBALANCE,
    (State.COMPLETING_REBALANCE, Event.ASSIGNED): State.STABLE,
    (State.COMPLETING_REBALANCE, Event.REMOVED): State.DEAD,
    (State.STABLE, Event.REBALANCE_NEEDED): State.PREPARING_REBALANCE,
    (State.STABLE, Event.REMOVED): State.DEAD,
}


@pytest.mark.parametrize("event", Event)
@pytest.mark.parametrize("state", State)
def test_the_table_of_classic_groups(state, event):
    group = ClassicGroup("group", now_ms=0, state=state)
    expected = NEXT.get((state, event))
    assert group.can(event) == (expected is not None)
    if expected is None:
        with pytest.raises(KeyError):
            group.on(event, 1)
        assert group.state is state
    else:
        group.on(event, 1)
        assert (group.state, group.previous_state) == (expected, state)
        assert group.state_changed_at_ms == 1
    assert TRANSITIONS[state].get(event) is expected


@dataclass
class Caller:
    api_version: int = 3
    client_id: str = "client"
    client_host: str = "127.0.0.1"
    may_describe: None = None


@dataclass
class Stage:
    """A group with a leader and a follower in a chosen state; no trio, and time stands still until
    it is told to pass."""

    now: float = 0.0
    answers: dict[str, list] = field(default_factory=dict)

    def __post_init__(self):
        config = GroupConfig(group_initial_rebalance_delay_ms=1_000)
        self.timers = Timers(lambda: self.now)
        self.protocol = ClassicProtocol(
            GroupServices(
                config=config,
                overrides=GroupOverrides(config, lambda group_id: {}),
                topics=MemoryTopics(),
                sessions=self.timers,
                phases=self.timers,
                now_ms=lambda: int(self.now * 1000),
                save=lambda group_id, records: None,
            )
        )
        self.group = self.protocol.simple_group("group")
        self.leader = self.follower = "nobody"

    def pass_time(self, seconds):
        until = self.now + seconds
        while self.timers.next_time() <= until:
            self.now = max(self.now, self.timers.next_time())
            self.timers.expire_due()
        self.now = until

    def join(self, member_id="", metadata=b""):
        protocol = JoinGroupRequestProtocol(name="range", metadata=metadata)
        request = JoinGroupRequest(
            group_id="group",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=5_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )
        answers = []
        self.protocol.join(self.group, Caller(), request, answers.append)
        return answers

    def sync(self, member_id):
        request = SyncGroupRequest(
            group_id="group",
            generation_id=self.group.generation_id,
            member_id=member_id,
            assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")],
        )
        answers = []
        self.protocol.sync(
            self.group,
            rows_of(request),
            lambda row: answers.append(message_of_row(SyncGroupResponse, row)),
        )
        return answers

    def bring_to(self, state):
        if state is State.EMPTY:
            return
        if state is State.DEAD:
            self.protocol.unload(self.group, ErrorCode.NOT_COORDINATOR)
            return
        joins = [self.join(), self.join()]
        self.pass_time(2.001)  # the second join extends the initial delay
        self.leader, self.follower = (answers[0].member_id for answers in joins)
        if state is State.COMPLETING_REBALANCE:
            return
        self.sync(self.leader)
        self.sync(self.follower)
        if state is State.PREPARING_REBALANCE:
            self.protocol.rebalances.begin(self.group)


def join_new(stage):
    return answered(stage.join())


def join_again(stage):
    return answered(stage.join(stage.follower))


def join_changed(stage):
    return answered(stage.join(stage.follower, b"other topics"))


def leader_joins(stage):
    return answered(stage.join(stage.leader))


def both_join(stage):
    stage.join(stage.leader)
    return answered(stage.join(stage.follower))


def leader_syncs(stage):
    return answered(stage.sync(stage.leader))


def follower_syncs(stage):
    return answered(stage.sync(stage.follower))


def heartbeat(stage):
    generation = stage.group.generation_id
    return stage.protocol.heartbeat(stage.group, stage.follower, None, generation)


def late_heartbeat(stage):
    generation = stage.group.generation_id - 1
    return stage.protocol.heartbeat(stage.group, stage.follower, None, generation)


def follower_leaves(stage):
    leaving = MemberIdentity(member_id=stage.follower)
    return stage.protocol.leave(stage.group, [leaving])[0].error_code


def both_leave(stage):
    leaving = [MemberIdentity(member_id=m) for m in (stage.follower, stage.leader)]
    return stage.protocol.leave(stage.group, leaving)[0].error_code


def sessions_end(stage):
    stage.pass_time(11)


def rebalance_timeout(stage):
    stage.pass_time(5.5)


def member_commits(stage):
    stage.group.validate_offset_commit(
        stage.follower, None, stage.group.generation_id, is_transactional=False, api_version=9
    )
    return ErrorCode.NONE


def administrator_commits(stage):
    stage.group.validate_offset_commit("", None, -1, is_transactional=False, api_version=9)
    return ErrorCode.NONE


def old_transaction_commits(stage):
    stage.group.validate_offset_commit("", None, -1, is_transactional=True, api_version=0)
    return ErrorCode.NONE


def delete(stage):
    stage.group.validate_delete()
    return ErrorCode.NONE


def delete_offsets(stage):
    stage.group.validate_offset_delete()
    return ErrorCode.NONE


def answered(answers):
    return answers[0].error_code if answers else PARKED


PARKED = "parked"
E, P, C, S, D = (
    State.EMPTY,
    State.PREPARING_REBALANCE,
    State.COMPLETING_REBALANCE,
    State.STABLE,
    State.DEAD,
)
OK, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID
GONE, AGAIN = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.REBALANCE_IN_PROGRESS
OLD, BUSY = ErrorCode.ILLEGAL_GENERATION, ErrorCode.NON_EMPTY_GROUP
NONE_SUCH = ErrorCode.GROUP_ID_NOT_FOUND

# The answer to each event, and the state after it, for a group that was:
#                          Empty         Preparing     Completing    Stable        Dead
EXPECTED = {
    join_new: ((PARKED, P), (PARKED, P), (PARKED, P), (PARKED, P), (GONE, D)),
    join_again: ((UNKNOWN, E), (PARKED, P), (OK, C), (OK, S), (GONE, D)),
    join_changed: ((UNKNOWN, E), (PARKED, P), (PARKED, P), (PARKED, P), (GONE, D)),
    leader_joins: ((UNKNOWN, E), (PARKED, P), (OK, C), (PARKED, P), (GONE, D)),
    both_join: ((UNKNOWN, E), (OK, C), (OK, C), (OK, C), (GONE, D)),
    leader_syncs: ((UNKNOWN, E), (AGAIN, P), (OK, S), (OK, S), (GONE, D)),
    follower_syncs: ((UNKNOWN, E), (AGAIN, P), (PARKED, C), (OK, S), (GONE, D)),
    heartbeat: ((UNKNOWN, E), (AGAIN, P), (OK, C), (OK, S), (GONE, D)),
    late_heartbeat: ((UNKNOWN, E), (OLD, P), (OLD, C), (OLD, S), (GONE, D)),
    follower_leaves: ((UNKNOWN, E), (OK, P), (OK, P), (OK, P), (GONE, D)),
    both_leave: ((UNKNOWN, E), (OK, E), (OK, E), (OK, E), (GONE, D)),
    sessions_end: ((None, E), (None, E), (None, E), (None, E), (None, D)),
    rebalance_timeout: ((None, E), (None, E), (None, E), (None, S), (None, D)),
    member_commits: ((UNKNOWN, E), (OK, P), (AGAIN, C), (OK, S), (GONE, D)),
    administrator_commits: ((OK, E), (UNKNOWN, P), (UNKNOWN, C), (UNKNOWN, S), (GONE, D)),
    old_transaction_commits: ((OK, E), (OK, P), (OK, C), (OK, S), (GONE, D)),
    delete: ((OK, E), (BUSY, P), (BUSY, C), (BUSY, S), (NONE_SUCH, D)),
    delete_offsets: ((OK, E), (OK, P), (OK, C), (OK, S), (NONE_SUCH, D)),
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("event", EXPECTED, ids=lambda event: event.__name__)
def test_every_state_with_every_event(state, event):
    stage = Stage()
    stage.bring_to(state)
    assert stage.group.state is state
    answer, after = EXPECTED[event][[E, P, C, S, D].index(state)]
    try:
        got = event(stage)
    except KafkaError as refused:
        got = refused.code
    assert (got, stage.group.state) == (answer, after)
