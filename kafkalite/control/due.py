"""The next things that time will bring about, the earliest first.

Ends of sessions, of acquisition locks, of transactions, of delegation tokens, of committed
offsets and of what is known of silent producers, and the oldest segments that retention.ms will
delete. The list says when each may happen at the earliest: a job of the broker does it soon after,
and a jump of the clock at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import nsmallest
from itertools import chain
from typing import TYPE_CHECKING, Final

from kafkalite.broker import Broker
from kafkalite.control.answers import Due
from kafkalite.control.clock import ClusterClock
from kafkalite.coordinators.transaction_coordinator.transaction import AT_REST, TransactionState
from kafkalite.log.retention import oldest_due_ms
from kafkalite.requests.slices import Steps, batches

if TYPE_CHECKING:
    from kafkalite.log.log import Log
    from kafkalite.replica.share.share_partitions import AcquisitionLock, SharePartitions


def due_next(broker: Broker, clock: ClusterClock, limit: int = 20) -> Steps[list[Due]]:
    """The next things that time will bring about."""
    found: list[Due] = []
    for source in _SOURCES:
        for some in batches(source(broker, clock)):
            new = (each for each in some if each is not None)
            found = nsmallest(limit, chain(found, new), key=lambda each: each.at_ms)
            yield
    return found


def lock_named(queues: SharePartitions, lock: AcquisitionLock) -> str:
    """An acquisition lock of a share group, in words."""
    key = lock.key
    return (
        f"acquisition lock of member {lock.member_id} in group {key.group_id} "
        f"on {queues.topic_name(key.topic_id)}-{key.partition}"
    )


def _in_ms(clock: ClusterClock, at: float) -> int:
    return clock.now_ms() + round((at - clock.time()) * 1000)


def _sessions(broker: Broker, clock: ClusterClock) -> Iterator[Due]:
    for each in broker.services.group_coordinator.interventions.deadlines():
        what = f"session of member {each.member_id} in group {each.group_id}"
        yield Due(_in_ms(clock, each.at), what)


def _locks(broker: Broker, clock: ClusterClock) -> Iterator[Due]:
    queues = broker.services.share.opened_partitions
    if queues is not None:
        for each in queues.locks():
            yield Due(_in_ms(clock, each.at), lock_named(queues, each))


def _transactions(broker: Broker, clock: ClusterClock) -> Iterator[Due]:
    coordinator = broker.services.transaction_coordinator
    idle_ms = coordinator.config.transactional_id_expiration_ms
    for each in list(coordinator.all()):
        if each.state is TransactionState.ONGOING:
            what = f"timeout of the transaction of {each.transactional_id}"
            yield Due(each.start_timestamp_ms + each.timeout_ms, what)
        elif each.state in AT_REST:
            what = f"end of the transactional id {each.transactional_id}"
            yield Due(each.last_update_timestamp_ms + idle_ms, what)


def producers(broker: Broker) -> Iterator[tuple[int, Log, int] | None]:
    """Each producer that a log knows and that has no transaction open in it: (when it is forgotten,
    log, producer id); None after each log.
    """
    silent_ms = broker.config.integer("producer.id.expiration.ms")
    for log in broker.services.logs.manager.logs:
        if log.offline_reason is None:
            for producer_id, entry in list(log.producer_state.producers.items()):
                if entry.transaction_first_offset is None:
                    yield entry.last_timestamp + silent_ms, log, producer_id
        yield None


def _producers(broker: Broker, clock: ClusterClock) -> Iterator[Due | None]:
    for each in producers(broker):
        if each is None:
            yield None
        else:
            yield Due(each[0], f"end of producer {each[2]} in {each[1].name}")


def _tokens(broker: Broker, clock: ClusterClock) -> Iterator[Due]:
    if broker.services.security.has_tokens:
        for token_id, token in list(broker.services.cluster.image.delegation_tokens.items()):
            at_ms = min(token.max_timestamp, token.expiration_timestamp)
            yield Due(at_ms, f"end of delegation token {token_id}")


def _offsets(broker: Broker, clock: ClusterClock) -> Iterator[Due | None]:
    for some in broker.services.group_coordinator.interventions.offset_expiries():
        for each in some:
            what = f"end of the offset of group {each.group_id} for {each.topic}-{each.partition}"
            yield Due(each.at_ms, what)
        yield None


def _retention(broker: Broker, clock: ClusterClock) -> Iterator[Due | None]:
    for log in broker.services.logs.manager.logs:
        at_ms = oldest_due_ms(log)
        if at_ms is None:
            yield None
        else:
            yield Due(at_ms, f"retention.ms of {log.name}, from offset {log.log_start_offset}")


# Each gives what there is and, as long as it finds nothing, None.
_SOURCES: Final[tuple[Callable[[Broker, ClusterClock], Iterator[Due | None]], ...]] = (
    _sessions,
    _locks,
    _transactions,
    _tokens,
    _offsets,
    _producers,
    _retention,
)
