"""The target of a consumer group: who is to have which partitions, and the way there (KIP-848).

    1. the member is written, and a changed subscription, or changed topics, raise the group epoch
    2. a new target is computed, if the group epoch is ahead of it
    3. the member comes one step nearer to its target

Source of the rules: Kafka's GroupMetadataManager, TargetAssignmentBuilder.
"""

from __future__ import annotations

from kafkalite.group_coordinator import consumer_records
from kafkalite.group_coordinator.assignors import ASSIGNORS
from kafkalite.group_coordinator.callers import Caller
from kafkalite.group_coordinator.changes import Changes
from kafkalite.group_coordinator.consumer_group import ConsumerGroup
from kafkalite.group_coordinator.consumer_member import (
    ConsumerMember,
    Owned,
    Surroundings,
    reconcile,
)
from kafkalite.group_coordinator.modern_protocol import new_targets_are_due, set_targets
from kafkalite.group_coordinator.services import GroupServices
from kafkalite.group_coordinator.subscriptions import TopicIds, candidates


class ConsumerTargets:
    """The steps, for all groups of a coordinator. Changes are added and not yet written."""

    def __init__(self, services: GroupServices) -> None:
        self._services = services
        self._topics = services.topics

    def update_member(
        self, changes: Changes[ConsumerGroup], member: ConsumerMember, caller: Caller
    ) -> bool:
        """Step 1. Returns whether the member's subscription is another than before."""
        group, group_id = changes.group, changes.group.group_id
        before = group.members.get(member.member_id) or group.new_member(member.member_id)
        names_changed = member.subscribed_topic_names != before.subscribed_topic_names
        expression_changed = member.subscribed_topic_regex != before.subscribed_topic_regex
        is_shared = expression_changed and member.subscribed_topic_regex in group.expressions
        if member != before or member.member_id not in group.members:
            changes.add(consumer_records.member(group_id, member))
        subscription_changed = names_changed or expression_changed
        if subscription_changed or group.is_metadata_stale:
            self.refresh(changes, raise_epoch=names_changed or is_shared, caller=caller)
        return subscription_changed

    def refresh(
        self, changes: Changes[ConsumerGroup], *, raise_epoch: bool, caller: Caller | None = None
    ) -> None:
        """Look at the topics. Raise the group epoch if they have changed, or if told to.

        A regular expression matches what the member may describe that makes it be looked at, for
        all members: with a new one all are. Without a member (`caller`) it keeps its topics, and
        the next heartbeat looks.
        """
        group, group_id = changes.group, changes.group.group_id
        used = group.used_expressions
        for expression in group.expressions.keys() - used:
            changes.add(consumer_records.no_regular_expression(group_id, expression))
        is_stale = group.is_metadata_stale or not used <= group.expressions.keys()
        group.is_metadata_stale = False
        found_others = False
        for expression in used if is_stale else ():
            if caller is None:
                group.is_metadata_stale = True
                continue
            topics = self._matched(expression, caller)
            found_others |= topics != group.expressions.get(expression, frozenset())
            if topics != group.expressions.get(expression):
                now_ms = self._services.now_ms()
                changes.add(
                    consumer_records.regular_expression(
                        group_id, expression, topics, group.epoch, now_ms
                    )
                )
        hashed = group.hash_of(group.subscribed_topics, self._topics, anew=is_stale)
        # In Kafka what an expression finds comes later, and raises the epoch by itself.
        raised = raise_epoch + found_others or hashed != group.metadata_hash
        if raised:
            changes.add(group.records.group_epoch(group_id, group.epoch + raised, hashed))

    def _matched(self, expression: str, caller: Caller) -> frozenset[str]:
        """The topics that an expression matches and the caller may describe."""
        # Imported with the first group that needs it.
        from kafkalite.group_coordinator.expressions import compile_expression

        matches, may = compile_expression(expression), caller.may_describe
        matched = (name for name in self._topics.names() if matches(name))
        return frozenset(name for name in matched if may is None or may(name))

    def reconcile(
        self,
        changes: Changes[ConsumerGroup],
        member_id: str,
        owned: Owned | None,
        subscription_changed: bool,
    ) -> ConsumerMember:
        """Steps 2 and 3. Returns the member as it is then."""
        group, ids = changes.group, TopicIds(self._topics)
        self._assign(changes, ids, member_id)
        member = group.members[member_id]
        if member.is_reconciled_to(group.assignment_epoch) and not subscription_changed:
            return member
        around = Surroundings(
            target=group.targets.get(member_id, {}),
            target_epoch=group.assignment_epoch,
            subscribed=ids.of(group.topics_of(member)),
            owned=owned,
            is_free=group.is_free,
            subscription_changed=subscription_changed,
        )
        updated = reconcile(member, around)
        if updated != member:
            changes.add(consumer_records.current_assignment(group.group_id, updated))
        return group.members[member_id]

    def _assign(self, changes: Changes[ConsumerGroup], ids: TopicIds, member_id: str) -> None:
        group, services = changes.group, self._services
        if group.epoch <= group.assignment_epoch or not new_targets_are_due(services, group):
            return
        name = group.preferred_assignor(member_id) or services.config.group_consumer_assignors[0]
        targets = ASSIGNORS[name](candidates(group, ids), ids.counts(group.subscribed_topics))
        set_targets(services, changes, targets, consumer_records.target)
