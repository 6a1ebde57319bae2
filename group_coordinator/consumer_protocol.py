"""What ConsumerGroupHeartbeat, and silence, do to a group of the consumer protocol (KIP-848).

A heartbeat does in this order what there is to do, all of it written as one batch:

    1. create or change the member; a changed subscription, or changed topics, raise the group epoch
    2. compute a new target, if the group epoch is ahead of it
    3. bring the member one step nearer to its target

Source of the rules: Kafka's GroupMetadataManager (consumerGroup...).
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from uuid import UUID

from kafkalite.group_coordinator import consumer_records, state_log
from kafkalite.group_coordinator.assignors import ASSIGNORS, Candidate
from kafkalite.group_coordinator.callers import Caller, shown_host
from kafkalite.group_coordinator.config import GroupConfig, GroupOverrides
from kafkalite.group_coordinator.consumer_checks import check_epoch
from kafkalite.group_coordinator.consumer_group import ConsumerGroup, MemberTimers
from kafkalite.group_coordinator.consumer_member import (
    JOIN_EPOCH,
    STATIC_LEAVE_EPOCH,
    ConsumerMember,
    ConsumerMemberState,
    Owned,
    Surroundings,
    owned_from,
    reconcile,
)
from kafkalite.group_coordinator.consumer_records import Change
from kafkalite.group_coordinator.subscriptions import compile_expression, metadata_hash
from kafkalite.group_coordinator.timers import Timers
from kafkalite.group_coordinator.topics_view import TopicsView
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)


class Changes:
    """What a request changes in one group: applied at once, written in the end, all or nothing."""

    __slots__ = ("group", "records")

    def __init__(self, group: ConsumerGroup, *records: state_log.StateRecord) -> None:
        self.group = group
        self.records = list(records)

    def add(self, change: Change) -> None:
        self.group.apply(*change)
        self.records.append(state_log.encoded(*change))

    def extend(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.add(change)


class ConsumerProtocol:
    """The rules, for all groups of a coordinator.

    `save(group_id, records)` makes records durable. `members_gone(group, member_ids)` is asked first
    when members are to be removed: it returns True if it has dealt with that by making the group a
    classic one.
    """

    def __init__(
        self,
        config: GroupConfig,
        overrides: GroupOverrides,
        timers: Timers,
        topics: TopicsView,
        now_ms: Callable[[], int],
        save: Callable[[str, Sequence[state_log.StateRecord]], None],
    ) -> None:
        self._config = config
        self._overrides = overrides
        self._timers = timers
        self._topics = topics
        self._now_ms = now_ms
        self._save = save
        self.members_gone: Callable[[ConsumerGroup, Sequence[ConsumerMember]], bool] = (
            lambda group, members: False
        )

    # ConsumerGroupHeartbeat

    def heartbeat(
        self, changes: Changes, caller: Caller, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """A member is there, comes, or changes. KafkaError when it is refused."""
        group = changes.group
        member = group.members.get(request.member_id)
        if (
            member is not None
            and self._changes_nothing(member, request)
            and self._is_settled(group, member)
        ):
            self.put_off(group, member.member_id)
            return self._response(group, member)
        compile_expression(
            request.subscribed_topic_regex or ""
        )  # refuse it before anything changes
        member_id = request.member_id or random_id()
        self.check_room(group, member_id)
        owned = owned_from(request.topic_partitions)
        before = self._member_for(changes, request, member_id, owned)
        subscription_changed = self.update_member(changes, _updated(before, caller, request))
        member = self.reconcile(changes, member_id, owned, subscription_changed)
        self.commit(changes)
        self.put_off(group, member_id)
        self._watch_revocation(group, member)
        response = self._response(group, member)
        is_full = (
            request.rebalance_timeout_ms != -1
            and (
                request.subscribed_topic_names is not None
                or request.subscribed_topic_regex is not None
            )
            and request.topic_partitions is not None
        )
        if request.member_epoch == JOIN_EPOCH or is_full or _differ(before, member):
            response.assignment = Assignment(
                topic_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
                    for topic_id, partitions in member.assigned.items()
                ]
            )
        return response

    def _changes_nothing(
        self, member: ConsumerMember, request: ConsumerGroupHeartbeatRequest
    ) -> bool:
        """The heartbeat of a member at rest, which is nearly every one."""
        return (
            request.member_epoch == member.member_epoch
            and request.member_epoch > 0
            and request.subscribed_topic_names is None
            and request.subscribed_topic_regex is None
            and request.topic_partitions is None
            and request.rebalance_timeout_ms == -1
            and request.server_assignor is None
            and request.rack_id is None
            and request.instance_id == member.instance_id
            and member.classic is None
        )

    def _is_settled(self, group: ConsumerGroup, member: ConsumerMember) -> bool:
        return (
            not group.is_metadata_stale
            and group.epoch == group.assignment_epoch
            and member.is_reconciled_to(group.assignment_epoch)
        )

    def _response(
        self, group: ConsumerGroup, member: ConsumerMember
    ) -> ConsumerGroupHeartbeatResponse:
        return ConsumerGroupHeartbeatResponse(
            member_id=member.member_id,
            member_epoch=member.member_epoch,
            heartbeat_interval_ms=self._overrides.heartbeat_interval_ms(group.group_id),
        )

    def check_room(self, group: ConsumerGroup, member_id: str) -> None:
        """KafkaError if there is no place for one more."""
        largest = self._config.group_consumer_max_size
        if len(group.members) >= largest and member_id not in group.members:
            raise KafkaError(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {largest} members.",
            )

    def _member_for(
        self,
        changes: Changes,
        request: ConsumerGroupHeartbeatRequest,
        member_id: str,
        owned: Owned | None,
    ) -> ConsumerMember:
        """The member that beats; a new one, which is in no group yet, if it joins."""
        group, instance_id = changes.group, request.instance_id
        if instance_id is not None and request.member_epoch == JOIN_EPOCH:
            static = group.static_member(instance_id)
            if static is None:
                return ConsumerMember(member_id=member_id)
            if static.member_epoch != STATIC_LEAVE_EPOCH and static.classic is None:
                raise KafkaError(
                    ErrorCode.UNRELEASED_INSTANCE_ID,
                    f"Static member {member_id} with instance id {instance_id} cannot join the "
                    f"group because the instance id is owned by {static.member_id} member.",
                )
            return self.replace_static(changes, static, member_id)
        if instance_id is not None:
            member = self.known_static(group, member_id, instance_id)
        else:
            member = group.members.get(member_id) or ConsumerMember(member_id=member_id)
            if member_id not in group.members and request.member_epoch != JOIN_EPOCH:
                raise unknown(group, member_id)
        check_epoch(member, request.member_epoch, owned)
        return member

    def known_static(
        self, group: ConsumerGroup, member_id: str, instance_id: str
    ) -> ConsumerMember:
        """The static member, or KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID."""
        member = group.static_member(instance_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
        if member.member_id != member_id:
            raise KafkaError(
                ErrorCode.FENCED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} was fenced by member "
                f"{member.member_id}.",
            )
        return member

    def replace_static(
        self, changes: Changes, old: ConsumerMember, member_id: str
    ) -> ConsumerMember:
        """A static member came back under a new id, and has what it had."""
        group = changes.group
        target = group.targets.get(old.member_id, {})
        new = replace(
            old, member_id=member_id, member_epoch=JOIN_EPOCH, previous_member_epoch=JOIN_EPOCH
        )
        changes.extend(consumer_records.no_member(group.group_id, old.member_id))
        changes.add(consumer_records.member(group.group_id, new))
        changes.add(consumer_records.target(group.group_id, member_id, target))
        changes.add(consumer_records.current_assignment(group.group_id, new))
        return new

    def update_member(self, changes: Changes, member: ConsumerMember) -> bool:
        """Step 1. Returns whether the member's subscription is another than before."""
        group, group_id = changes.group, changes.group.group_id
        before = group.members.get(member.member_id) or ConsumerMember(member_id=member.member_id)
        subscription_changed = (
            member.subscribed_topic_names != before.subscribed_topic_names
            or member.subscribed_topic_regex != before.subscribed_topic_regex
        )
        if member != before or member.member_id not in group.members:
            changes.add(consumer_records.member(group_id, member))
        if subscription_changed or group.is_metadata_stale:
            self.refresh(changes, raise_epoch=subscription_changed)
        return subscription_changed

    def refresh(self, changes: Changes, *, raise_epoch: bool) -> None:
        """See what has become of the topics; raise the group epoch if they are others now."""
        group, group_id = changes.group, changes.group.group_id
        used = {m.subscribed_topic_regex for m in group.members.values()} - {""}
        for expression in group.expressions.keys() - used:
            changes.add(consumer_records.no_regular_expression(group_id, expression))
        for expression in used:
            matches = compile_expression(expression)
            topics = frozenset(name for name in self._topics.names() if matches(name))
            if topics != group.expressions.get(expression):
                now_ms = self._now_ms()
                changes.add(
                    consumer_records.regular_expression(
                        group_id, expression, topics, group.epoch, now_ms
                    )
                )
        hashed = metadata_hash(group.subscribed_topics, self._topics)
        if raise_epoch or hashed != group.metadata_hash:
            changes.add(consumer_records.group(group_id, group.epoch + 1, hashed))
        group.is_metadata_stale = False

    def rebalance(self, group: ConsumerGroup) -> None:
        """Assign anew though nothing has changed: the group begins another epoch."""
        changes = Changes(group)
        self.refresh(changes, raise_epoch=True)
        self.commit(changes)

    def reconcile(
        self, changes: Changes, member_id: str, owned: Owned | None, subscription_changed: bool
    ) -> ConsumerMember:
        """Steps 2 and 3. Returns the member as it is then."""
        group = changes.group
        self._assign(changes)
        member = group.members[member_id]
        if member.is_reconciled_to(group.assignment_epoch) and not subscription_changed:
            return member
        around = Surroundings(
            target=group.targets.get(member_id, {}),
            target_epoch=group.assignment_epoch,
            subscribed=frozenset(self._topic_ids(group.topics_of(member))),
            owned=owned,
            is_free=group.is_free,
            subscription_changed=subscription_changed,
        )
        updated = reconcile(member, around)
        if updated != member:
            changes.add(consumer_records.current_assignment(group.group_id, updated))
        return group.members[member_id]

    def _assign(self, changes: Changes) -> None:
        group, group_id = changes.group, changes.group.group_id
        now_ms = self._now_ms()
        interval_ms = self._overrides.assignment_interval_ms(group_id)
        if group.epoch <= group.assignment_epoch:
            return
        if group.assigned_at_ms and now_ms < group.assigned_at_ms + interval_ms:
            return  # the next heartbeats will: changes that come together are dealt with once
        counts = self._topic_ids(group.subscribed_topics)
        candidates = [
            Candidate(
                member.member_id,
                member.instance_id,
                frozenset(self._topic_ids(group.topics_of(member))),
                group.targets.get(member.member_id, {}),
            )
            for member in group.members.values()
        ]
        name = group.preferred_assignor() or self._config.group_consumer_assignors[0]
        for member_id, target in ASSIGNORS[name](candidates, counts).items():
            if target != group.targets.get(member_id):
                changes.add(consumer_records.target(group_id, member_id, target))
        changes.add(consumer_records.assignment_epoch(group_id, group.epoch, now_ms))

    def _topic_ids(self, names: Iterable[str]) -> Mapping[UUID, int]:
        """Ids and partition counts of those topics that exist."""
        found: dict[UUID, int] = {}
        for name in names:
            topic_id = self._topics.topic_id(name)
            if topic_id is not None:
                found[topic_id] = self._topics.partition_count(name)
        return found

    # Leaving, silence

    def leave(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
    ) -> ConsumerGroupHeartbeatResponse:
        """A member goes, for good or (static, -2) for a while."""
        if request.instance_id is not None:
            member = self.known_static(group, request.member_id, request.instance_id)
        else:
            found = group.members.get(request.member_id)
            if found is None:
                raise unknown(group, request.member_id)
            member = found
        if request.member_epoch == STATIC_LEAVE_EPOCH:
            changes = Changes(group)
            away = replace(member, member_epoch=STATIC_LEAVE_EPOCH, pending_revocation={})
            changes.add(consumer_records.current_assignment(group.group_id, away))
            self.commit(changes)
        else:
            self.remove(group, [member])
        return ConsumerGroupHeartbeatResponse(
            member_id=request.member_id, member_epoch=request.member_epoch
        )

    def remove(self, group: ConsumerGroup, members: Sequence[ConsumerMember]) -> None:
        """Members are gone; what they had is free."""
        if self.members_gone(group, members):
            return
        changes = Changes(group)
        for member in members:
            changes.extend(consumer_records.no_member(group.group_id, member.member_id))
        self.refresh(changes, raise_epoch=True)
        self.commit(changes)

    def commit(self, changes: Changes) -> None:
        if changes.records:
            self._save(changes.group.group_id, changes.records)

    def timers_of(self, group: ConsumerGroup, member_id: str) -> MemberTimers:
        """The member's timers, whose expiry removes it."""
        timers = group.timers.get(member_id)
        if timers is None:

            def expire() -> None:
                member = group.members.get(member_id)
                if member is not None and group.timers.get(member_id) is timers:
                    self.remove(group, [member])

            timers = group.timers[member_id] = MemberTimers(expire)
        return timers

    def put_off(self, group: ConsumerGroup, member_id: str) -> None:
        """The member was heard of: its session begins anew."""
        classic = group.members[member_id].classic
        timeout_ms = (
            self._overrides.session_timeout_ms(group.group_id)
            if classic is None
            else classic.session_timeout_ms
        )
        self._timers.set(self.timers_of(group, member_id).session, timeout_ms / 1000)

    def _watch_revocation(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """What a member is asked to give up, it must give up within its rebalance timeout."""
        timer = self.timers_of(group, member.member_id).revoke
        if member.state is not ConsumerMemberState.UNREVOKED_PARTITIONS:
            timer.cancel()
        elif not timer.is_set:
            self._timers.set(timer, member.rebalance_timeout_ms / 1000)

    def watch(self, group: ConsumerGroup) -> None:
        """The group has been loaded: all sessions begin anew."""
        for member in group.members.values():
            self.put_off(group, member.member_id)
            if member.classic is None:
                self._watch_revocation(group, member)


def _updated(
    member: ConsumerMember, caller: Caller, request: ConsumerGroupHeartbeatRequest
) -> ConsumerMember:
    """The member with what the request says of it; what it does not mention stays."""
    names, expression = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return replace(
        member,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
        server_assignor=request.server_assignor or member.server_assignor,
        subscribed_topic_names=member.subscribed_topic_names if names is None else frozenset(names),
        subscribed_topic_regex=member.subscribed_topic_regex if expression is None else expression,
        client_id=caller.client_id,
        client_host=shown_host(caller),
        classic=None,
    )


def _differ(before: ConsumerMember, after: ConsumerMember) -> bool:
    """True if other partitions are assigned."""
    return {t: p.keys() for t, p in before.assigned.items()} != {
        t: p.keys() for t, p in after.assigned.items()
    }


def unknown(group: ConsumerGroup, member_id: str) -> KafkaError:
    return KafkaError(
        ErrorCode.UNKNOWN_MEMBER_ID,
        f"Member {member_id} is not a member of group {group.group_id}.",
    )


def random_id() -> str:
    """As Kafka's Uuid prints itself: 22 characters, the first of them no dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not text.startswith("-"):
            return text
