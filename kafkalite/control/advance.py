"""Moving a cluster's time on: what falls due happens, in order, and is reported.

The clock steps from deadline to deadline. At each the members whose time is up are let go, and
acquisition locks of share groups run out; then the target is set, and each job that time brings
about is done once, in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Literal, TypeVar

from kafkalite.broker import Broker
from kafkalite.control.answers import Advanced, Due
from kafkalite.control.clock import ClusterClock
from kafkalite.control.due import due_next, lock_named, producers
from kafkalite.coordinators.transaction_coordinator.transaction import TransactionState
from kafkalite.group_coordinator.interventions import Interventions, MemberOfGroup
from kafkalite.requests.slices import Steps, batches, in_slices_of_task
from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.log.log import Log

T = TypeVar("T")

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
    offsets = await in_slices_of_task(_gathered(groups.committed_offsets()))
    async with clock.jump:
        target = clock.time() + by_ms / 1000
        if members == "keep":
            report.kept_members = groups.put_off(connected, by_ms / 1000)
        groups.put_off_sweep(target)
        with groups.telling_expired() as expired:
            steps = _pass_time(broker, clock, target, expired, report)
            await in_slices_of_task(_with_others_after(groups, target, steps))
    await _do_jobs(broker, clock, report)
    await in_slices_of_task(_without(offsets, groups.committed_offsets()))
    report.fired += await in_slices_of_task(_ended(offsets, clock.now_ms()))
    report.now_ms = clock.now_ms()
    report.notes += await in_slices_of_task(_notes(broker, by_ms))
    upcoming = await in_slices_of_task(due_next(broker, clock))
    report.next_due = upcoming[0] if upcoming else None
    return report


def _gathered(parts: Iterable[Iterable[T]]) -> Steps[set[T]]:
    found: set[T] = set()
    for part in parts:
        found.update(part)
        yield
    return found


def _without(values: set[T], parts: Iterable[Iterable[T]]) -> Steps[None]:
    """Take out of a set what is in any of the parts."""
    for part in parts:
        values.difference_update(part)
        yield


def _ended(offsets: set[tuple[str, str, int]], now_ms: int) -> Steps[list[Due]]:
    """The ends of these offsets, in their order, a group a step."""
    by_group: dict[str, list[tuple[str, int]]] = {}
    for some in batches(offsets):
        for group, topic, partition in some:
            by_group.setdefault(group, []).append((topic, partition))
        yield
    ended: list[Due] = []
    for group in sorted(by_group):
        for topic, partition in sorted(by_group[group]):
            ended.append(Due(now_ms, f"offset of group {group} for {topic}-{partition} ended"))
        yield
    return ended


def _pass_time(
    broker: Broker,
    clock: ClusterClock,
    target: float,
    expired: list[MemberOfGroup],
    report: Advanced,
) -> Steps[None]:
    """Move the clock from deadline to deadline, and have happen what falls due at each.

    `expired` gets the members that are sent away.
    """
    groups = broker.services.group_coordinator.interventions
    for _ in range(_MOST_STEPS):
        queues = broker.services.share.opened_partitions
        now = clock.time()
        due = groups.next_time()
        if queues is not None:
            due = min(due, queues.next_lock_time())
        if due > target:
            break
        if due > now:
            clock.step(due - now)
        yield from _expire(broker, clock, expired, report)
    clock.forward(max(0.0, target - clock.time()))
    yield from _expire(broker, clock, expired, report)


def _with_others_after(groups: Interventions, target: float, steps: Steps[None]) -> Steps[None]:
    """The same steps of a jump. Members that are heard of in between are so after it."""
    for _ in steps:
        with groups.passing(target):
            yield


def _expire(
    broker: Broker, clock: ClusterClock, expired: list[MemberOfGroup], report: Advanced
) -> Steps[None]:
    groups = broker.services.group_coordinator.interventions
    while groups.next_time() <= clock.time():
        groups.expire_due()
        yield
    for group_id, member_id in sorted(set(expired)):
        report.expired_members.append(member_id)
        report.fired.append(
            Due(clock.now_ms(), f"member {member_id} of group {group_id} was let go")
        )
    expired.clear()
    queues = broker.services.share.opened_partitions
    if queues is None or queues.next_lock_time() > clock.time():
        return
    report.fired += [
        Due(clock.now_ms(), f"{lock_named(queues, lock)} ran out")
        for lock in queues.locks(until=clock.time())
        if lock.at <= clock.time()
    ]
    while queues.next_lock_time() <= clock.time():
        queues.release_due()
        yield


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
    await _expire_offsets(broker, clock)
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
    await _do_jobs_of_logs(broker, clock, report)


async def _expire_offsets(broker: Broker, clock: ClusterClock) -> None:
    groups = broker.services.group_coordinator.interventions
    # The sweep also removes empty groups without offsets, so it is not done for nothing.
    due = (each for some in groups.offset_expiries() for each in (*some, None))
    if await in_slices_of_task(_any(due, lambda each: each.at_ms <= clock.now_ms())):
        with suppress(KafkaError):  # a failing disk, which the coordinator's log says
            await in_slices_of_task(_done(groups.expiring_offsets()))


def _any(items: Iterable[T | None], is_it: Callable[[T], bool]) -> Steps[bool]:
    for item in items:
        if item is not None and is_it(item):
            return True
        yield
    return False


def _done(steps: Iterable[object]) -> Steps[None]:
    for _ in steps:
        yield


async def _do_jobs_of_logs(broker: Broker, clock: ClusterClock, report: Advanced) -> None:
    silent = await in_slices_of_task(_silent(broker, clock.now_ms()))
    segments = await in_slices_of_task(_segments(broker))
    leaders = await in_slices_of_task(_leaders(broker))
    await broker.background.catch_up()
    report.fired += [
        Due(clock.now_ms(), f"producer {producer_id} ended in {log.name}")
        for _, log, producer_id in sorted(silent, key=lambda each: (each[1].name, each[2]))
        if producer_id not in log.producer_state.producers
    ]
    report.deleted_segments = await in_slices_of_task(_deleted_of(segments))
    report.fired += [
        Due(clock.now_ms(), f"node {leader} leads {topic}-{index} again")
        for (topic, index), leader in (await in_slices_of_task(_leaders(broker))).items()
        if leaders.get((topic, index), leader) != leader
    ]


def _silent(broker: Broker, now_ms: int) -> Steps[list[tuple[int, Log, int]]]:
    found: list[tuple[int, Log, int]] = []
    for each in producers(broker):
        if each is not None and each[0] <= now_ms:
            found.append(each)
        yield
    return found


def _segments(broker: Broker) -> Steps[dict[Log, tuple[int, list[int]]]]:
    """For each log: how often segments were taken out of it, and where those begin that it has."""
    found: dict[Log, tuple[int, list[int]]] = {}
    for log in broker.services.logs.manager.logs:
        found[log] = log.segments.removed_count, log.segments.base_offsets
        yield
    return found


def _deleted_of(before: dict[Log, tuple[int, list[int]]]) -> Steps[int]:
    """The number of segments that are gone."""
    count = 0
    for log, (removed_count, base_offsets) in before.items():
        if log.segments.removed_count != removed_count:
            count += len(set(base_offsets).difference(log.segments.base_offsets))
        yield
    return count


def _leaders(broker: Broker) -> Steps[dict[tuple[str, int], int]]:
    found: dict[tuple[str, int], int] = {}
    for topic in list(broker.services.topics.all()):
        for some in batches(topic.partitions):
            found.update({(topic.name, each.index): each.leader_id for each in some})
            yield
    return found


def _ongoing(broker: Broker) -> set[str]:
    return {
        each.transactional_id
        for each in broker.services.transaction_coordinator.all()
        if each.state is TransactionState.ONGOING
    }


def _notes(broker: Broker, by_ms: int) -> Steps[list[str]]:
    shortest: int | None = None
    for log in broker.services.logs.manager.logs:
        retention_ms = log.config.retention_ms
        if retention_ms > 0 and (shortest is None or retention_ms < shortest):
            shortest = retention_ms
        yield
    if shortest is None or by_ms < shortest:
        return []
    note = (
        "records bear the time of their producers' clocks, which did not move: new ones are as old "
        "as this jump is long, for retention (message.timestamp.type=LogAppendTime stamps them "
        "here)"
    )
    return [note]
