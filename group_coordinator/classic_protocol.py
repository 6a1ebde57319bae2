"""The effects of JoinGroup, SyncGroup, Heartbeat, LeaveGroup and silence on a classic group.

Plain functions of a group, a request and the time: a request that has to wait leaves its answer
callback with the member, and whatever completes the phase calls it. Nothing awaits here.

    JoinGroup    adds or changes a member, and so begins a rebalance (classic_rebalance.py)
                 parks until all have joined
    SyncGroup    parks until the leader has sent the assignment
    Heartbeat    begins the session anew, and says whether a rebalance waits for the member
    LeaveGroup   the member goes, and the others rebalance. So does the end of its session.

Source of the rules: Kafka's GroupMetadataManager (classicGroup...), KIP-62, 345, 394, 559, 814.
"""

from collections.abc import Sequence

from kafkalite.group_coordinator import state_log
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.classic_answers import joined, leave_each, synced
from kafkalite.group_coordinator.classic_group import ClassicGroup, Event, State
from kafkalite.group_coordinator.classic_member import (
    AnswerJoin,
    AnswerSync,
    ClassicMember,
    sync_refused,
)
from kafkalite.group_coordinator.classic_rebalance import ClassicRebalances
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from kafkalite.wire.messages.leave_group import MemberIdentity, MemberResponse
from kafkalite.wire.messages.sync_group import SyncGroupRequestRow

KNOWN_MEMBER_ID_SINCE = 4  # JoinGroup: KIP-394
SKIP_ASSIGNMENT_SINCE = 9  # JoinGroup: KIP-814

# The time that a new member may wait in a JoinGroup before it counts as gone. Its connection is
# muted meanwhile, so that its going cannot be seen. A constant in Kafka, too.
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000


class ClassicProtocol:
    """The rules, for all groups of a coordinator."""

    def __init__(self, services: GroupServices) -> None:
        self._config = services.config
        self._sessions = services.sessions
        self._now_ms = services.now_ms
        self._save = services.save
        self._happenings = services.happenings
        self._new_uuid = services.new_uuid
        self.rebalances = ClassicRebalances(services)

    def new_group(
        self, group_id: str, tombstones: Sequence[state_log.StateRecord] = ()
    ) -> ClassicGroup:
        """A new group in place of the one that `tombstones` end. KafkaError if it cannot be
        written."""
        group = self.simple_group(group_id)
        self._save(group_id, [*tombstones, state_log.group_metadata(group)])
        return group

    def simple_group(self, group_id: str, made_at: int = -1) -> ClassicGroup:
        """A group that has offsets and never had members: no record of its own is written."""
        group = ClassicGroup(group_id, now_ms=self._now_ms(), made_at=made_at)
        self.rebalances.watch(group)
        return group

    # JoinGroup

    def join(
        self, group: ClassicGroup, caller: Caller, request: JoinGroupRequest, answer: AnswerJoin
    ) -> None:
        """Answer, or park. KafkaError when it is refused."""
        if not self._accepts(group, request.member_id):
            if request.member_id:
                group.remove(request.member_id)
                why = "the group has as many members as it may have"
                self._happenings.gone("group.left", group.group_id, why, request.member_id)
            raise KafkaError(ErrorCode.GROUP_MAX_SIZE_REACHED)
        if group.state is State.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        names = [protocol.name for protocol in request.protocols]
        if not group.supports(request.protocol_type, names):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if request.member_id:
            self._join_known(group, caller, request, answer)
        else:
            self._join_unknown(group, caller, request, answer)

    def _accepts(self, group: ClassicGroup, member_id: str) -> bool:
        """True if group.max.size leaves room.

        During a rebalance only members that have joined count. So if the limit was lowered, the
        last to join are turned away.
        """
        match group.state:
            case State.EMPTY | State.DEAD:
                return True
            case State.PREPARING_REBALANCE:
                member = group.members.get(member_id)
                waiting = member is not None and member.answer_join is not None
                return waiting or group.awaiting_join_count < self._config.group_max_size
            case State.COMPLETING_REBALANCE | State.STABLE:
                return (
                    member_id in group.members or len(group.members) < self._config.group_max_size
                )

    def _join_unknown(
        self, group: ClassicGroup, caller: Caller, request: JoinGroupRequest, answer: AnswerJoin
    ) -> None:
        instance_id = request.group_instance_id
        new_member_id = f"{instance_id or caller.client_id}-{self._new_uuid()}"
        if instance_id is not None:
            current = group.member_id_by_instance.get(instance_id)
            if current is None:
                self._add_member(group, caller, request, new_member_id, answer)
            else:
                member = group.members[current]
                self._replace_static(group, caller, request, member, new_member_id, answer)
        elif caller.api_version < KNOWN_MEMBER_ID_SINCE:
            self._add_member(group, caller, request, new_member_id, answer)
        else:
            self._expect_member(group, new_member_id, request.session_timeout_ms)
            answer(
                JoinGroupResponse(member_id=new_member_id, error_code=ErrorCode.MEMBER_ID_REQUIRED)
            )

    def _expect_member(self, group: ClassicGroup, member_id: str, session_timeout_ms: int) -> None:
        group.pending_join.add(member_id)

        def forget() -> None:
            if member_id in group.pending_join:
                group.remove(member_id)
                self.rebalances.member_silent(group)

        self._sessions.set(Timer(forget), session_timeout_ms / 1000)

    def _join_known(
        self, group: ClassicGroup, caller: Caller, request: JoinGroupRequest, answer: AnswerJoin
    ) -> None:
        if request.member_id in group.pending_join:
            self._add_member(group, caller, request, request.member_id, answer)
            return
        member = group.validate_member(request.member_id, request.group_instance_id)
        match group.state:
            case State.PREPARING_REBALANCE:
                rebalance = True
            case State.COMPLETING_REBALANCE:
                # Sent again with nothing new: the answer was probably lost.
                rebalance = member.protocols != request.protocols
            case State.STABLE:
                # The leader rejoins when it saw a change that is not in its metadata: of topics.
                leads = member.member_id == group.leader_id
                rebalance = leads or member.protocols != request.protocols
            case _:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if rebalance:
            group.update(member, self._member_from(caller, request, member.member_id, answer))
            self.rebalances.member_joined(group)
        else:
            answer(joined(group, member))

    def _member_from(
        self, caller: Caller, request: JoinGroupRequest, member_id: str, answer: AnswerJoin
    ) -> ClassicMember:
        return ClassicMember(
            member_id=member_id,
            group_instance_id=request.group_instance_id,
            client_id=caller.client_id,
            client_host=shown_host(caller),
            rebalance_timeout_ms=request.rebalance_timeout_ms
            if caller.api_version > 0
            else request.session_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            protocol_type=request.protocol_type,
            protocols=request.protocols,
            session=Timer(lambda: None),
            answer_join=answer,
        )

    def _add_member(
        self,
        group: ClassicGroup,
        caller: Caller,
        request: JoinGroupRequest,
        member_id: str,
        answer: AnswerJoin,
    ) -> None:
        member = self._member_from(caller, request, member_id, answer)
        member.is_new = True
        if group.state is State.PREPARING_REBALANCE and group.previous_state is State.EMPTY:
            group.new_member_added = True
        group.add(member)
        self._happenings.tell(
            "group.joined", group.group_id, member=member_id, client_id=caller.client_id
        )
        self.watch(group, member)
        self._sessions.set(member.session, NEW_MEMBER_JOIN_TIMEOUT_MS / 1000)
        self.rebalances.member_joined(group)

    def _replace_static(
        self,
        group: ClassicGroup,
        caller: Caller,
        request: JoinGroupRequest,
        member: ClassicMember,
        new_member_id: str,
        answer: AnswerJoin,
    ) -> None:
        """A static member came back after a restart: the same member under a new id."""
        old_leader_id, old_member_id = group.leader_id, member.member_id
        before = self._member_from(caller, request, old_member_id, answer)
        before.protocols, before.answer_join = member.protocols, None
        before.rebalance_timeout_ms = member.rebalance_timeout_ms
        before.session_timeout_ms = member.session_timeout_ms
        group.replace_static(member, new_member_id)
        why = f"static member {request.group_instance_id} is back, as another process"
        self._happenings.gone("group.left", group.group_id, why, old_member_id)
        self._happenings.tell("group.joined", group.group_id, why, member=new_member_id)
        group.update(member, self._member_from(caller, request, new_member_id, answer))
        member.put_off(self._sessions)
        if group.state is State.STABLE and group.select_protocol() == group.protocol_name:
            # Its assignment stands: no other member notices.
            try:
                self._save(group.group_id, [state_log.group_metadata(group)])
            except KafkaError:
                group.update(member, before)
                group.replace_static(member, old_member_id)
                raise
            response = joined(group, member)
            if caller.api_version >= SKIP_ASSIGNMENT_SINCE:
                response.skip_assignment = group.leader_id == new_member_id
            else:
                # It must not think it leads, or it would compute an assignment that no member waits
                # for.
                response.members = []
                response.leader = old_leader_id or ""
            group.answer_join(member, response)
        elif group.state is State.PREPARING_REBALANCE:
            self.rebalances.complete_join_if_all_there(group)
        else:
            # The leader may have been told the old id: its assignment would miss the new one.
            self.rebalances.begin(group)

    # SyncGroup

    def sync(self, group: ClassicGroup, request: SyncGroupRequestRow, answer: AnswerSync) -> None:
        """Answer, or park until the leader's assignment is there. KafkaError when refused."""
        _, generation_id, member_id, instance_id, protocol_type, protocol_name, given = request
        if group.state is State.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        member = group.validate_member(member_id, instance_id)
        if generation_id != group.generation_id:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        if differs(protocol_type, group.protocol_type) or differs(
            protocol_name, group.protocol_name
        ):
            raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        if group.state is State.PREPARING_REBALANCE:
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        group.pending_sync.discard(member.member_id)
        if not group.pending_sync:
            group.phase.cancel()
        member.answer_sync = answer
        if group.state is State.STABLE:
            group.answer_sync(member, synced(group, member))
        elif member.member_id == group.leader_id:
            self.rebalances.assign(group, {each: bytes(assignment) for each, assignment in given})

    # Heartbeat, LeaveGroup, silence

    def heartbeat(
        self, group: ClassicGroup, member_id: str, instance_id: str | None, generation_id: int
    ) -> ErrorCode:
        """NONE or REBALANCE_IN_PROGRESS. Raises KafkaError for a member that does not belong."""
        if group.state is State.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        member = group.validate_member(member_id, instance_id)
        if generation_id != group.generation_id:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        self._sessions.set(member.session, member.session_timeout_ms / 1000)
        if group.state is State.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def leave(self, group: ClassicGroup, leaving: Sequence[MemberIdentity]) -> list[MemberResponse]:
        """Let members go, by id, or by instance id alone as an administrator does (KIP-345)."""
        if group.state is State.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        responses = leave_each(
            leaving, lambda each: self._leave_one(group, each.member_id, each.group_instance_id)
        )
        if any(response.error_code == ErrorCode.NONE for response in responses):
            self.rebalances.member_left(group)
        return responses

    def _leave_one(self, group: ClassicGroup, member_id: str, instance_id: str | None) -> None:
        if not member_id and instance_id is not None:
            member_id = group.member_id_by_instance.get(instance_id, "")
        if member_id in group.pending_join:
            group.remove(member_id)
        else:
            self._dismiss(group, group.validate_member(member_id, instance_id))
            self._happenings.gone("group.left", group.group_id, "it left", member_id)

    def _dismiss(self, group: ClassicGroup, member: ClassicMember) -> None:
        group.answer_join(member, JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        group.answer_sync(member, sync_refused(ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    def watch(self, group: ClassicGroup, member: ClassicMember) -> None:
        """From now on, let the member go when its session ends."""

        def expire() -> None:
            if member.may_expire() and group.members.get(member.member_id) is member:
                self.expel(group, member)

        member.session = Timer(expire)
        member.put_off(self._sessions)

    def expel(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Remove a member that was not heard of."""
        self._dismiss(group, member)
        why = f"it was not heard of for {member.session_timeout_ms} ms"
        self._happenings.gone("group.expired", group.group_id, why, member.member_id)
        self.rebalances.member_silent(group)

    def heard_of(self, group: ClassicGroup, member_id: str) -> None:
        """A commit is a sign of life as good as a heartbeat."""
        member = group.members.get(member_id)
        if member is not None and group.state is not State.COMPLETING_REBALANCE:
            member.put_off(self._sessions)

    def unload(self, group: ClassicGroup, error_code: ErrorCode) -> None:
        """The group is deleted, or no longer coordinated here: tell the members that wait, and
        stop."""
        group.phase.close()
        self.rebalances.tell_all()
        tell_waiting(group, error_code)
        for member in group.members.values():
            member.session.close()
        group.on(Event.REMOVED, self._now_ms())


def tell_waiting(group: ClassicGroup, error_code: ErrorCode) -> None:
    """Answer every parked JoinGroup and SyncGroup of the group with an error."""
    for member in tuple(group.members.values()):
        group.answer_join(
            member, JoinGroupResponse(member_id=member.member_id, error_code=error_code)
        )
        group.answer_sync(member, sync_refused(error_code))


def differs(named: str | None, actual: str | None) -> bool:
    """True if two names contradict each other; older versions name none."""
    return named is not None and actual is not None and named != actual
