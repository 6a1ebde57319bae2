"""Moving a cluster's time on: what falls due happens, in order, and is reported.

The clock steps from deadline to deadline. At each the members whose time is up are let go, and
acquisition locks of share groups run out; then the target is set, and each job that time brings
about is done once, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal

from kafkalite.broker import Broker
from kafkalite.control.answers import Advanced, Due
from kafkalite.control.clock import ClusterClock
from kafkalite.coordinators.transaction_coordinator.transaction import TransactionState
from kafkalite.group_coordinator.interventions import MemberOfGroup
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.replica.share.share_partitions import AcquisitionLock, SharePartitions

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
            clock.forward(due - now)
        _expire(broker, clock, report)
    clock.forward(max(0.0, target - clock.time()))
    _expire(broker, clock, report)
    await _do_jobs(broker, clock, report)
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
            Due(clock.now_ms(), f"{_named(queues, lock)} ran out")
            for lock in queues.locks()
            if lock.at <= clock.time()
        ]
        queues.release_due()


def _named(queues: SharePartitions, lock: AcquisitionLock) -> str:
    key = lock.key
    return (
        f"acquisition lock of member {lock.member_id} in group {key.group_id} "
        f"on {queues.topic_name(key.topic_id)}-{key.partition}"
    )


async def _do_jobs(broker: Broker, clock: ClusterClock, report: Advanced) -> None:
    transactions = broker.services.transaction_coordinator
    open_before = _ongoing(broker)
    transactions.abort_timed_out()
    report.aborted += sorted(open_before - _ongoing(broker))
    report.fired += [
        Due(clock.now_ms(), f"the transaction of {name} timed out") for name in report.aborted
    ]
    transactions.remove_expired()
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
    logs = broker.services.logs.manager
    segments_before = sum(len(log.segments) for log in logs.logs)
    await broker.background.catch_up()
    segments_after = sum(len(log.segments) for log in logs.logs)
    report.deleted_segments = max(0, segments_before - segments_after)


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


def due_next(broker: Broker, clock: ClusterClock, limit: int = 20) -> list[Due]:
    """Says what time will bring about next: ends of sessions, of acquisition locks and of
    transactions, the earliest first."""
    now_ms, now = clock.now_ms(), clock.time()
    due = [
        Due(
            now_ms + round((each.at - now) * 1000),
            f"session of member {each.member_id} in group {each.group_id}",
        )
        for each in broker.services.group_coordinator.interventions.deadlines()
    ]
    queues = broker.services.share.opened_partitions
    if queues is not None:
        due += [
            Due(now_ms + round((each.at - now) * 1000), _named(queues, each))
            for each in queues.locks()
        ]
    due += [
        Due(
            each.start_timestamp_ms + each.timeout_ms,
            f"timeout of the transaction of {each.transactional_id}",
        )
        for each in broker.services.transaction_coordinator.all()
        if each.state is TransactionState.ONGOING
    ]
    return sorted(due, key=lambda each: each.at_ms)[:limit]
