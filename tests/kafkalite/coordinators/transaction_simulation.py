"""Transactions over brokers under faults in virtual time, and what must hold whatever happens.

1. What was committed is seen in both partitions, once, and in order.
2. What was aborted is seen in none.
3. What was neither, for all that its producer knows, is seen in both or in none.
4. In the end no transaction is open.
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import trio

from kafkalite.coordinators.coordinator_log import batches_of
from kafkalite.log.log import Log
from kafkalite.wire.control_records import ControlRecordType, read_end_transaction_marker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import iterate_records
from tests.kafkalite.coordinators.transacting_broker import Identity, TransactingBroker
from tests.kafkalite.replication.simulation import BROKERS, Simulation, Violation

WRITERS = tuple(f"writer-{number}" for number in range(3))
# The coordinator does not know the producer any more, or not in this way.
LOST = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
    }
)
# Longer than the timeout of a transaction, and the markers after it.
REST_SECONDS = 15


class TransactionSimulation(Simulation):
    """Each writer has one transactional id, and writes to both partitions in each transaction."""

    def __init__(self, root: Path, seed: int, steps: int) -> None:
        super().__init__(root, seed, steps)
        self.committed: set[int] = set()
        self.aborted: set[int] = set()
        self.writers: dict[int, str] = {}
        self.has_stopped = False

    def make_broker(self, node_id: int) -> TransactingBroker:
        return TransactingBroker(
            node_id, self.root / str(node_id), self.network, self.controller, self
        )

    def begin_load(self) -> None:
        for name in WRITERS:
            self.nursery.start_soon(self._write, name)

    def _leader(self, index: int) -> TransactingBroker:
        """Most often the right one. Raises KafkaError."""
        leader = self.controller.states[index].leader
        is_stale = self.random.random() < 0.1
        broker = self.brokers.get(self.random.choice(BROKERS) if is_stale else leader)
        if broker is None:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE)
        assert isinstance(broker, TransactingBroker)
        return broker

    async def _write(self, name: str) -> None:
        identity: Identity | None = None
        while not self.has_stopped:
            await trio.sleep(self.random.expovariate(3))
            try:
                if identity is None:
                    identity = await self._leader(0).init(name)
            except KafkaError:
                continue
            identity = await self._transact(name, identity)

    async def _transact(self, name: str, identity: Identity) -> Identity | None:
        number = next(self.numbers)
        self.writers[number] = name
        commit = self.random.random() < 0.7
        try:
            for index in (0, 1):
                leader = self._leader(1 + index)
                await leader.write(name, identity, index, b"%d" % number)
        except KafkaError:
            commit = False
            if self.random.random() < 0.3:
                return None  # its heir ends it, or its timeout
        while True:
            try:
                identity = await self._leader(0).end(name, identity, commit=commit)
            except KafkaError as error:
                if error.code in LOST:
                    return None
                await trio.sleep(self.random.expovariate(4))
            else:
                (self.committed if commit else self.aborted).add(number)
                return identity

    async def _settle(self) -> None:
        self.has_stopped = True
        await super()._settle()
        await trio.sleep(REST_SECONDS)
        seen = [self._seen(index) for index in (1, 2)]
        for numbers in seen:
            for name in WRITERS:
                mine = [number for number in numbers if self.writers[number] == name]
                if any(after <= before for before, after in pairwise(mine)):
                    raise Violation(f"{name} has {mine}")
        first, second = map(set, seen)
        if first != second:
            raise Violation(f"{first ^ second} are in one partition only")
        if not self.committed <= first:
            raise Violation(f"{self.committed - first} were committed")
        if self.aborted & first:
            raise Violation(f"{self.aborted & first} were aborted")

    def _seen(self, index: int) -> list[int]:
        """The numbers that were committed, in the order of their records."""
        broker = self.brokers[self.controller.states[index].leader]
        return seen_in(broker.logs[index])


def seen_in(log: Log) -> list[int]:
    """Raises Violation for a transaction that is open."""
    numbers: list[int] = []
    open_: dict[int, list[int]] = {}
    dropped: set[int] = set()
    for batch in batches_of(log):
        if batch.is_control:
            marker = read_end_transaction_marker(batch)
            assert marker is not None
            if marker.control_type is not ControlRecordType.COMMIT:
                dropped.update(open_.get(batch.producer_id, ()))
            open_.pop(batch.producer_id, None)
            continue
        found = [int(record.value or b"") for record in iterate_records(batch)]
        numbers += found
        open_.setdefault(batch.producer_id, []).extend(found)
    if open_:
        raise Violation(f"{log.name}: open are {open_}")
    return [number for number in numbers if number not in dropped]
