"""Moving a cluster's time on: what falls due happens, in order, and is reported.

The clock steps from deadline to deadline. At each the members whose time is up are let go, and
acquisition locks of share groups run out; then the target is set, and each job that time brings
about is done once, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import Final, Literal

from kafkalite.broker import Broker
from kafkalite.control.answers import Advanced, Due
from kafkalite.control.clock import ClusterClock
from kafkalite.control.due import due_next, lock_named, producers
from kafkalite.coordinators.transaction_coordinator.transaction import TransactionState
from kafkalite.group_coordinator.interventions import MemberOfGroup
from kafkalite.requests.slices import in_slices_of_task
from kafkalite.wire.errors import KafkaError

# Timers that fire for ever within one jump would keep the loop: nothing has so many.
_MOST_STEPS: Final = 100_000


async def advance(
    broker: Broker,
    clock: ClusterClock,
    by_ms: int,
    *,
    members: Literal["keep", "expire"] = "keep",
    connected: Collection[MemberOfGroup] = (),
) -> Advanced:
    """Move the clock of a broker by `by_ms`, and have done what time does.

    `connected` are the members whose connections are open: with `keep` their sessions are put
    off by the jump, as if they had been heard of meanwhile.
    """
    services = broker.services
    groups = services.group_coordinator.interventions
    report = Advanced(from_ms=clock.now_ms())
    offsets_before = groups.committed_offsets()
    target = clock.time() + by_ms / 1000
    if members == "keep":
        report.kept_members = groups.put_off(connected, by_ms / 1000)
    for _ in range(_MOST_STEPS):
        queues = services.share.opened_partitions
        now = clock.time()
        due = groups.next_time()
        if queues is not None:
            due = min(due, queues.next_lock_time())
        if due > target:
            break
        if due > now:
            clock.step(due - now)
        _expire(broker, clock, report)
    clock.forward(max(0.0, target - clock.time()))
    _expire(broker, clock, report)
    await _do_jobs(broker, clock, report)
    report.fired += [
        Due(clock.now_ms(), f"offset of group {group} for {topic}-{partition} ended")
        for group, topic, partition in sorted(offsets_before - groups.committed_offsets())
    ]
    report.now_ms = clock.now_ms()
    report.notes += _notes(broker, by_ms)
    upcoming = due_next(broker, clock)
    report.next_due = upcoming[0] if upcoming else None
    return report


def _expire(broker: Broker, clock: ClusterClock, report: Advanced) -> None:
    groups = broker.services.group_coordinator.interventions
    before = groups.members()
    groups.expire_due()
    for group_id, member_id in sorted(before - groups.members()):
        report.expired_members.append(member_id)
        report.fired.append(
            Due(clock.now_ms(), f"member {member_id} of group {group_id} was let go")
        )
    queues = broker.services.share.opened_partitions
    if queues is not None:
        report.fired += [
            Due(clock.now_ms(), f"{lock_named(queues, lock)} ran out")
            for lock in queues.locks()
            if lock.at <= clock.time()
        ]
        queues.release_due()


async def _do_jobs(broker: Broker, clock: ClusterClock, report: Advanced) -> None:
    services = broker.services
    transactions = services.transaction_coordinator
    open_before = _ongoing(broker)
    await in_slices_of_task(transactions.abort_timed_out())
    report.aborted += sorted(open_before - _ongoing(broker))
    report.fired += [
        Due(clock.now_ms(), f"the transaction of {name} timed out") for name in report.aborted
    ]
    ids_before = {each.transactional_id for each in transactions.all()}
    await in_slices_of_task(transactions.remove_expired())
    ids_left = {each.transactional_id for each in transactions.all()}
    report.fired += [
        Due(clock.now_ms(), f"the transactional id {name} ended")
        for name in sorted(ids_before - ids_left)
    ]
    groups = services.group_coordinator.interventions
    # The sweep also removes empty groups without offsets, so it is not done for nothing.
    if any(each.at_ms <= clock.now_ms() for each in groups.offset_expiries()):
        with suppress(KafkaError):  # a failing disk, which the coordinator's log says
            groups.expire_offsets()
    if broker.services.security.has_tokens:
        tokens = broker.services.cluster.image.delegation_tokens
        there = list(tokens)
        with suppress(KafkaError):  # a failing disk: the task of the tokens says it, and tries on
            await broker.expire_tokens()
        report.fired += [
            Due(clock.now_ms(), f"delegation token {token_id} ended")
            for token_id in there
            if token_id not in tokens
        ]
    silent = [each for each in producers(broker) if each[0] <= clock.now_ms()]
    segments_before = _segments(broker)
    leaders_before = _leaders(broker)
    await broker.background.catch_up()
    report.fired += [
        Due(clock.now_ms(), f"producer {producer_id} ended in {log.name}")
        for _, log, producer_id in sorted(silent, key=lambda each: (each[1].name, each[2]))
        if producer_id not in log.producer_state.producers
    ]
    report.deleted_segments = len(segments_before - _segments(broker))
    report.fired += [
        Due(clock.now_ms(), f"node {leader} leads {topic}-{index} again")
        for (topic, index), leader in _leaders(broker).items()
        if leaders_before.get((topic, index), leader) != leader
    ]


def _segments(broker: Broker) -> set[tuple[str, int]]:
    """The log and the first offset of each segment."""
    return {
        (log.name, each.base_offset)
        for log in broker.services.logs.manager.logs
        for each in log.segments
    }


def _leaders(broker: Broker) -> dict[tuple[str, int], int]:
    return {
        (topic.name, each.index): each.leader_id
        for topic in broker.services.topics.all()
        for each in topic.partitions
    }


def _ongoing(broker: Broker) -> set[str]:
    return {
        each.transactional_id
        for each in broker.services.transaction_coordinator.all()
        if each.state is TransactionState.ONGOING
    }


def _notes(broker: Broker, by_ms: int) -> list[str]:
    notes: list[str] = []
    shortest = min(
        (
            log.config.retention_ms
            for log in broker.services.logs.manager.logs
            if log.config.retention_ms > 0
        ),
        default=None,
    )
    if shortest is not None and by_ms >= shortest:
        notes.append(
            "records bear the time of their producers' clocks, which did not move: new ones are as "
            "old as this jump is long, for retention (message.timestamp.type=LogAppendTime stamps "
            "them here)"
        )
    return notes
