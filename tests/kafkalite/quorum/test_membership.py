"""A broker's membership: it starts when the metadata are as of now, or says why they are not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from uuid import UUID

import pytest
import trio

from kafkalite.peers.link import Address
from kafkalite.quorum.lifecycle import LifeState
from kafkalite.quorum.membership import Membership, MembershipConfig
from kafkalite.quorum.observer import Committed
from kafkalite.quorum.registration import Registration
from kafkalite.requests.slices import Steps
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    PartitionDataRequest,
    TopicDataRequest,
)
from kafkalite.wire.messages.stored.partition_record import PartitionRecord
from tests.kafkalite.replication.model_controller import TOPIC_ID, Controller
from tests.kafkalite.replication.model_metadata_log import PORT
from tests.kafkalite.replication.virtual_network import Network

DIRECTORY = UUID(int=200)


class World:
    """A controller in a network of its own, and one broker that wants to be a member."""

    def __init__(self, nursery: trio.Nursery, port: int = PORT) -> None:
        self.network = Network(Random(1), nursery)
        self.controller = Controller(self.network.random, [1], 1, 1)
        self.network.serve(PORT, self.controller.serve)
        nursery.start_soon(self.controller.run)
        self.published: list[Committed] = []
        self.membership = Membership(
            Registration(1, "cluster", listeners=[], features={}, directory_ids=[DIRECTORY]),
            MembershipConfig([Address("", port)], heartbeat_seconds=0.5, registration_seconds=20),
            cluster_id="cluster",
            directory_id=DIRECTORY,
            publish=self._publish,
            metadata_offset=lambda: self.published[-1].offset,
            offline_directories=list,
            cordoned_directories=list,
            connect=self.network.connect_from(1),
        )

    def _publish(self, committed: Committed) -> Steps[None]:
        self.published.append(committed)
        yield


@asynccontextmanager
async def world(port: int = PORT) -> AsyncIterator[World]:
    async with trio.open_nursery() as nursery:
        yield World(nursery, port)
        nursery.cancel_scope.cancel()


async def test_it_has_started_when_the_metadata_are_here(autojump_clock: object) -> None:
    async with world() as made, trio.open_nursery() as nursery:
        await trio.sleep(1)
        with trio.fail_after(10):
            await nursery.start(made.membership.run)
        assert made.membership.refusal is None
        assert any(isinstance(each, PartitionRecord) for each in made.published[0].records)
        assert made.membership.broker_epoch() == -1
        nursery.start_soon(made.membership.lifecycle.run)
        with trio.fail_after(10):
            await made.membership.lifecycle.caught_up.wait()
            made.membership.lifecycle.ready()
            await made.membership.lifecycle.unfenced.wait()
        assert made.membership.lifecycle.state is LifeState.RUNNING
        assert made.membership.broker_epoch() == made.controller.brokers[1].epoch
        nursery.cancel_scope.cancel()


async def test_what_it_says_reaches_the_controllers(autojump_clock: object) -> None:
    async with world() as made, trio.open_nursery() as nursery:
        membership = made.membership
        await nursery.start(membership.run)
        nursery.start_soon(membership.lifecycle.run)
        await membership.lifecycle.caught_up.wait()
        membership.producer_ids.prefetch()
        membership.assignments.tell(TOPIC_ID, 0, DIRECTORY)
        await trio.sleep(2)
        assert membership.producer_ids.take() == 0
        assert made.controller.assigned == {(1, 0): DIRECTORY}
        partition = PartitionDataRequest(
            partition_index=0,
            leader_epoch=99,
            partition_epoch=0,
            new_isr_with_epochs=[BrokerState(broker_id=1)],
        )
        proposal = AlterPartitionRequest(
            broker_id=1,
            broker_epoch=membership.broker_epoch(),
            topics=[TopicDataRequest(topic_id=TOPIC_ID, partitions=[partition])],
        )
        answer = await membership.alter_partition(proposal)
        assert answer.topics[0].partitions[0].error_code == ErrorCode.INVALID_REQUEST
        nursery.cancel_scope.cancel()


async def test_controllers_that_do_not_answer_are_named(autojump_clock: object) -> None:
    async with world(port=1) as made, trio.open_nursery() as nursery:
        began = trio.current_time()
        await nursery.start(made.membership.run)
        assert made.membership.refusal == "no controller answers at :1"
        assert trio.current_time() - began == pytest.approx(20, abs=0.1)


async def test_a_start_that_is_to_end_does_not_wait_for_controllers(
    autojump_clock: object,
) -> None:
    async with world(port=1) as made, trio.open_nursery() as nursery:
        began = trio.current_time()
        made.membership.lifecycle.may_go.set()
        await nursery.start(made.membership.run)
        assert made.membership.refusal is not None
        assert trio.current_time() - began < 1
