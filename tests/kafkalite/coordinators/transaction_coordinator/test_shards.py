"""The coordinator's partitions are loaded when they are led, and dropped when they are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkalite.coordinators.transaction_coordinator.shards import TransactionShards
from kafkalite.coordinators.transaction_coordinator.state_log import TransactionLog
from kafkalite.coordinators.transaction_coordinator.transaction import (
    Transaction,
    TransactionState,
)
from kafkalite.requests.slices import Steps, at_once
from kafkalite.requests.topic_names import TRANSACTIONS_TOPIC
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.replica.replicated import ME, OTHER, Replicated, replicated

BEFORE = Transaction("t", 5, 0, 1000)
ENDING = Transaction("t", 5, 1, 1000, TransactionState.PREPARE_COMMIT)


class World:
    """Broker 1 leads the one partition. Nothing is loaded before `load`."""

    def __init__(self, replicas: Replicated) -> None:
        self.replicas = replicas
        self.log = TransactionLog(replicas.topics, lambda: 1, lambda: 2)
        self.to_load: list[Steps[None]] = []
        self.loaded: list[Transaction] = []
        self.resigned: list[int] = []
        self.shards = TransactionShards(
            self.log,
            self.to_load.append,
            loaded=self.loaded.append,
            resigned=self.resigned.append,
        )

    def begin(self) -> None:
        """Led here, with what was written already."""
        self.replicas.create(ME, ME, OTHER, name=TRANSACTIONS_TOPIC)
        for each in (BEFORE, ENDING):
            self.log.write(each)
        self.shards.leaders_changed()

    def lead(self, leader: int) -> None:
        self.replicas.change(leader=leader)
        self.shards.leaders_changed()

    def load(self) -> None:
        while self.to_load:
            at_once(self.to_load.pop(0))

    def found(self) -> Transaction | ErrorCode | None:
        try:
            return self.shards.find("t", ME)
        except KafkaError as error:
            return error.code


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with replicated(tmp_path) as replicas:
        yield World(replicas)


async def test_ids_are_refused_while_they_are_loaded(world: World) -> None:
    assert world.found() is ErrorCode.NOT_COORDINATOR
    world.begin()
    assert world.found() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        world.shards.of_node(ME)
    world.load()
    assert world.found() == ENDING
    assert world.loaded == [ENDING]
    assert list(world.shards.of_node(ME)) == list(world.shards.all()) == [ENDING]


async def test_what_is_led_elsewhere_is_dropped_and_loaded_again_later(world: World) -> None:
    world.begin()
    world.load()
    world.lead(OTHER)
    assert world.found() is ErrorCode.NOT_COORDINATOR
    assert world.resigned == [0]
    assert list(world.shards.all()) == []
    world.lead(ME)
    world.load()
    assert world.loaded == [ENDING, ENDING]


async def test_a_load_ends_when_the_partition_is_led_elsewhere(world: World) -> None:
    world.begin()
    (steps,) = world.to_load
    next(steps)
    world.lead(OTHER)
    world.lead(ME)
    at_once(steps)
    assert world.loaded == [], "what began under an older epoch is dropped"
    assert world.found() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.load()
    assert world.loaded == [ENDING]


async def test_an_id_that_was_forgotten_is_not_there_after_a_load(world: World) -> None:
    world.begin()
    world.load()
    world.log.forget("t")
    world.shards.remove("t")
    assert world.found() is None
    world.lead(OTHER)
    world.lead(ME)
    world.load()
    assert world.found() is None
