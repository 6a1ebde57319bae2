"""The target of a consumer group: who is to have which partitions, and the way there (KIP-848).

    1. the member is written, and a changed subscription, or changed topics, raise the group epoch
    2. a new target is computed, if the group epoch is ahead of it
    3. the member comes one step nearer to its target

Source of the rules: Kafka's GroupMetadataManager, TargetAssignmentBuilder.
"""

from __future__ import annotations

from collections.abc import Callable

from kafkalite.group_coordinator import consumer_records
from kafkalite.group_coordinator.assignors import ASSIGNORS, Candidate
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.config import GroupConfig, GroupOverrides
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import (
    ConsumerMember,
    Owned,
    Surroundings,
    reconcile,
)
from kafkalite.group_coordinator.subscriptions import (
    compile_expression,
    metadata_hash,
    partition_counts,
)
from kafkalite.group_coordinator.topics_view import TopicsView


class ConsumerTargets:
    """The steps, for all groups of a coordinator. Changes are added and not yet written."""

    def __init__(
        self,
        config: GroupConfig,
        overrides: GroupOverrides,
        topics: TopicsView,
        now_ms: Callable[[], int],
    ) -> None:
        self._config = config
        self._overrides = overrides
        self._topics = topics
        self._now_ms = now_ms

    def update_member(self, changes: Changes[ConsumerGroup], member: ConsumerMember) -> bool:
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

    def refresh(self, changes: Changes[ConsumerGroup], *, raise_epoch: bool) -> None:
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

    def reconcile(
        self,
        changes: Changes[ConsumerGroup],
        member_id: str,
        owned: Owned | None,
        subscription_changed: bool,
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
            subscribed=frozenset(partition_counts(group.topics_of(member), self._topics)),
            owned=owned,
            is_free=group.is_free,
            subscription_changed=subscription_changed,
        )
        updated = reconcile(member, around)
        if updated != member:
            changes.add(consumer_records.current_assignment(group.group_id, updated))
        return group.members[member_id]

    def _assign(self, changes: Changes[ConsumerGroup]) -> None:
        group, group_id = changes.group, changes.group.group_id
        now_ms = self._now_ms()
        interval_ms = self._overrides.assignment_interval_ms(group_id)
        if group.epoch <= group.assignment_epoch:
            return
        if group.assigned_at_ms and now_ms < group.assigned_at_ms + interval_ms:
            return  # the next heartbeats will: changes that come together are dealt with once
        counts = partition_counts(group.subscribed_topics, self._topics)
        candidates = [
            Candidate(
                member.member_id,
                member.instance_id,
                frozenset(partition_counts(group.topics_of(member), self._topics)),
                group.targets.get(member.member_id, {}),
            )
            for member in group.members.values()
        ]
        name = group.preferred_assignor() or self._config.group_consumer_assignors[0]
        for member_id, target in ASSIGNORS[name](candidates, counts).items():
            if target != group.targets.get(member_id):
                changes.add(consumer_records.target(group_id, member_id, target))
        changes.add(consumer_records.assignment_epoch(group_id, group.epoch, now_ms))
