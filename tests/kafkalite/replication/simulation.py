"""A cluster in virtual time under faults, and what must hold in it whatever happens.

1. Below a leader's high watermark every living in-sync replica has the same bytes.
2. What was acknowledged is in the log of every later leader, at its offset.
3. The same offset and epoch means the same record, on every broker.
4. A leader's high watermark never falls within its epoch.
5. No two brokers lead in one epoch.
6. No broker takes in metadata that are not committed.

A run ends where Apache Kafka's controllers lose records: without a broker that is in sync, or that
left in order, they elect the last known leader, also after its power was cut.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random

import pytest
import trio
from trio._core import _run
from trio.testing import MockClock

from kafkalite.log.log import Log
from kafkalite.quorum.observer import Committed
from kafkalite.replication.replica import Replica
from kafkalite.requests import slices
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import iterate_batches, iterate_records
from tests.kafkalite.replication.model_controller import Controller
from tests.kafkalite.replication.model_metadata_log import PORT
from tests.kafkalite.replication.virtual_broker import VirtualBroker
from tests.kafkalite.replication.virtual_network import Network

# KAFKALITE_STEPS=1000000 makes all simulations long.
IS_LONG = "KAFKALITE_STEPS" in os.environ
STEPS_PER_SEED = 1500
# Some mutants show with one seed in forty.
MUTANT_SEEDS = 200

BROKERS = (1, 2, 3)
PARTITIONS = 3
MIN_ISR = 2


def seeds(steps: int) -> range:
    """The seeds of so many steps, or of KAFKALITE_STEPS."""
    return range(int(os.environ.get("KAFKALITE_STEPS", steps)) // STEPS_PER_SEED)


# Offset to epoch and value.
Content = dict[int, tuple[int, bytes]]


class Violation(AssertionError):
    """An invariant does not hold."""


class SliceClock:
    """The time that long work has taken: by a seed, not by how fast this machine is."""

    def __init__(self, seed: float) -> None:
        self._random = Random(seed)
        self._now = 0.0

    def __call__(self) -> float:
        self._now += self._random.random() * slices.SLICE_SECONDS
        return self._now


class Simulation:
    """One run. `seed` decides all of it: load, faults, who runs first, and what is in slices."""

    def __init__(self, root: Path, seed: int, steps: int) -> None:
        self.root, self.steps = root, steps
        self.random = Random(seed)
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        self.leaders: dict[tuple[int, int], int] = {}
        self.high_watermarks: dict[tuple[int, int], int] = {}
        self.values: dict[tuple[int, int, int], bytes] = {}
        self.contents: dict[tuple[int, int], tuple[bytes, Content]] = {}
        self.fault_count = 0
        self.is_lost = False
        self.numbers = count()

    def run(self) -> Simulation:
        # trio shuffles its tasks, with a random generator that is its own: a seed must decide that,
        # too.
        _run._ALLOW_DETERMINISTIC_SCHEDULING = True
        _run._r.seed(self.random.random())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(slices, "monotonic", SliceClock(self.random.random()))
            trio.run(self._main, clock=MockClock(autojump_threshold=0))
        return self

    async def _main(self) -> None:
        async with trio.open_nursery() as nursery:
            self.nursery = nursery
            self.network = Network(self.random, nursery)
            self.controller = Controller(self.random, BROKERS, PARTITIONS, MIN_ISR)
            self.controller.loses = self._lost
            self.network.serve(PORT, self.controller.serve)
            self.brokers = {node_id: self.make_broker(node_id) for node_id in BROKERS}
            nursery.start_soon(self.controller.run)
            for broker in self.brokers.values():
                nursery.start_soon(broker.run)
            self.begin_load()
            nursery.start_soon(self._look)
            await self._break()
            nursery.cancel_scope.cancel()

    def _lost(self) -> None:
        self.is_lost = True
        self.nursery.cancel_scope.cancel()

    def knows_it_leads(self, broker: VirtualBroker, index: int) -> bool:
        """True if the controller has elected a broker, and it has heard of it."""
        state = self.controller.states[index]
        is_up = broker.is_alive and broker.has_begun
        if not is_up or index >= len(broker.partitions):
            return False
        epoch = broker.partitions[index].leader_epoch
        return (state.leader, state.leader_epoch) == (broker.node_id, epoch)

    def make_broker(self, node_id: int) -> VirtualBroker:
        return VirtualBroker(node_id, self.root / str(node_id), self.network, self.controller, self)

    # -- load and faults

    def begin_load(self) -> None:
        for index in range(PARTITIONS):
            self.nursery.start_soon(self._produce, index)

    async def _produce(self, index: int) -> None:
        while True:
            await trio.sleep(self.random.expovariate(8))
            value = b"%d" % next(self.numbers)
            leader = self.controller.states[index].leader
            stale = self.random.random() < 0.1
            broker = self.brokers.get(self.random.choice(BROKERS) if stale else leader)
            if broker is None:
                continue
            try:
                offset = await broker.produce(index, value)
            except (KafkaError, trio.TooSlowError):
                continue
            self.acknowledged[index, offset] = value

    async def _break(self) -> None:
        await trio.sleep(5)
        while self.network.steps < self.steps:
            await trio.sleep(self.random.uniform(0.5, 4))
            self.fault_count += 1
            faults = [self._kill, self._cut_power, self._part, self._lose, self._let_go]
            fault = self.random.choice([*faults, self._kill, self._part, self._fail_over])
            await fault()
        self.network.parted.clear()
        self.network.loss = 0.0
        await self._settle()

    async def _settle(self) -> None:
        """Without faults all become in sync again, and nothing acknowledged is gone."""
        for _ in range(240):
            if self._is_whole():
                break
            await trio.sleep(0.5)
        else:
            raise Violation(f"not in sync two minutes after the last fault: {self._shown()}")
        await trio.sleep(5)
        self._check()

    def _is_whole(self) -> bool:
        return all(broker.is_alive for broker in self.brokers.values()) and all(
            len(state.isr) == len(BROKERS) for state in self.controller.states
        )

    def _shown(self) -> str:
        return "; ".join(str(state) for state in self.controller.states)

    async def _kill(self, power: Random | None = None) -> None:
        broker = self.brokers[self.random.choice(BROKERS)]
        if not broker.is_alive:
            return
        broker.kill(power=power)
        if power is not None:
            self.controller.incomplete |= {(broker.node_id, index) for index in range(PARTITIONS)}
        self.nursery.start_soon(self._come_back, broker, self.random.uniform(0.1, 8))

    async def _cut_power(self) -> None:
        if self._is_whole():  # two disks at once may lose what nobody else has
            await self._kill(self.random)

    async def _come_back(self, broker: VirtualBroker, seconds: float) -> None:
        """Start it again, once: it may be killed while it shuts down."""
        if broker.is_coming_back:
            return
        broker.is_coming_back = True
        await broker.gone.wait()
        await trio.sleep(seconds)
        broker.is_coming_back = False
        await broker.run()

    async def _let_go(self) -> None:
        broker = self.brokers[self.random.choice(BROKERS)]
        if broker.is_alive and broker.lifecycle.unfenced.is_set():
            broker.lifecycle.begin_shutdown()
            self.nursery.start_soon(self._come_back, broker, self.random.uniform(0.1, 5))

    async def _part(self) -> None:
        """In both ways, or in one: what one node sends does not reach the other."""
        one, other = self.random.sample((*BROKERS, PORT), 2)
        ways = self.random.sample([(one, other), (other, one)], self.random.randint(1, 2))
        self.network.parted.update(ways)
        self.nursery.start_soon(self._join, ways, self.random.uniform(0.2, 12))

    async def _join(self, ways: list[tuple[int, int]], seconds: float) -> None:
        await trio.sleep(seconds)
        self.network.parted.difference_update(ways)

    async def _lose(self) -> None:
        self.network.loss = self.random.choice((0.0, 0.0, 0.05, 0.3))

    async def _fail_over(self) -> None:
        self.controller.log.fail_over()

    # -- what must hold

    def leads(self, broker: VirtualBroker, replica: Replica) -> None:
        assert replica.leading is not None
        key = replica.index, replica.leading.leader_epoch
        known = self.leaders.setdefault(key, broker.node_id)
        if known != broker.node_id:
            raise Violation(f"{known} and {broker.node_id} lead {key}")

    def published(self, broker: VirtualBroker, committed: Committed) -> None:
        if committed.offset >= self.controller.log.committed_end:
            raise Violation(f"broker {broker.node_id} took in {committed} before it was committed")

    async def _look(self) -> None:
        while True:
            await trio.sleep(1)
            self._check()

    def _check(self) -> None:
        logs = {
            (broker.node_id, index): self._content(broker.node_id, index, log)
            for broker in self.brokers.values()
            if broker.is_alive
            for index, log in broker.logs.items()
        }
        for broker in self.brokers.values():
            if broker.is_alive:
                for replica in broker.replicas:
                    if replica.leading is not None:
                        self._check_leader(broker, replica, logs)

    def _content(self, node_id: int, index: int, log: Log) -> Content:
        """All records in a log. Those in bytes that were there before are looked at once."""
        data = all_bytes(log)
        before, found = self.contents.get((node_id, index), (b"", {}))
        if not data.startswith(before):
            before, found = b"", {}
        for batch in iterate_batches(data[len(before) :]):
            epoch = batch.partition_leader_epoch
            for record in iterate_records(batch):
                value = record.value or b""
                found[record.offset] = epoch, value
                if self.values.setdefault((index, record.offset, epoch), value) != value:
                    raise Violation(f"{index}: two records at {record.offset} in epoch {epoch}")
        self.contents[node_id, index] = data, found
        return found

    def _check_leader(
        self,
        broker: VirtualBroker,
        replica: Replica,
        logs: dict[tuple[int, int], Content],
    ) -> None:
        assert replica.leading is not None
        index, high_watermark = replica.index, replica.log.high_watermark
        state = self.controller.states[index]
        key = index, replica.leading.leader_epoch
        if replica.log.leader_epochs.latest < replica.leading.leader_epoch:
            raise Violation(f"{key}: its leader's log does not know of the epoch")
        if high_watermark < self.high_watermarks.get(key, 0):
            raise Violation(f"{key}: the high watermark fell to {high_watermark}")
        self.high_watermarks[key] = high_watermark
        if state.leader != broker.node_id or state.leader_epoch != replica.leading.leader_epoch:
            return
        own = logs[broker.node_id, index]
        for (at, offset), value in self.acknowledged.items():
            if at == index and own.get(offset, (0, b""))[1] != value:
                raise Violation(f"{key}: acknowledged {value!r} at {offset} is lost")
        self._check_in_sync(key, own, logs, high_watermark)

    def _check_in_sync(
        self,
        key: tuple[int, int],
        own: Content,
        logs: dict[tuple[int, int], Content],
        high_watermark: int,
    ) -> None:
        index, _ = key
        for node_id in self.controller.states[index].isr:
            other = self.brokers[node_id]
            registered = self.controller.brokers[node_id].epoch
            if not other.is_alive or other.lifecycle.broker_epoch != registered:
                continue
            theirs = logs.get((node_id, index))
            if theirs is None:
                continue
            for offset in range(high_watermark):
                if theirs.get(offset) != own[offset]:
                    raise Violation(f"{key}: {node_id} is in sync and has not {offset}")


Mutant = Callable[[pytest.MonkeyPatch], None]


def each_of(*mutants: tuple[Mutant, int]) -> pytest.MarkDecorator:
    """A test for each planted fault (`mutant`), with the seed that is tried first (`likely`)."""
    names = [mutant.__name__ for mutant, _ in mutants]
    return pytest.mark.parametrize(("mutant", "likely"), mutants, ids=names)


def shows_a_violation(
    make: Callable[[Path, int, int], Simulation], root: Path, likely: int, told: str = ""
) -> bool:
    """True if one of many seeds breaks what must hold, with `told` in what is said of it.

    `likely` is tried first.
    """
    for seed in (likely, *range(MUTANT_SEEDS)):
        try:
            make(root / str(seed), seed, STEPS_PER_SEED).run()
        except BaseExceptionGroup as errors:
            violations = list(_violations(errors))
            if not violations:
                raise
            if any(told in str(each) for each in violations):
                return True
    return False


def _violations(errors: BaseExceptionGroup[BaseException]) -> Iterator[Violation]:
    for each in errors.exceptions:
        if isinstance(each, BaseExceptionGroup):
            yield from _violations(each)
        elif isinstance(each, Violation):
            yield each


def all_bytes(log: Log) -> bytes:
    """The batches of a log, from its files: each append is there at once."""
    return b"".join(path.read_bytes() for path in sorted(log.directory.glob("*.log")))
