"""A huge request that waits for something else keeps no other huge request waiting."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import pytest
import trio

from kafkalite.faults import hold, silence
from kafkalite.requests.request_memory import RequestMemory
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.join_group import JoinGroupRequestProtocol
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.kafkalite.few_partitions import FEW_PARTITIONS
from tests.kafkalite.group_requests import find, join
from tests.kafkalite.until import until

HUGE = 5_000
PROTOCOLS = [JoinGroupRequestProtocol(f"p{number}", b"") for number in range(HUGE)]


@pytest.fixture(autouse=True)
def nothing_is_collected() -> Iterator[None]:
    """The client's messages are many objects: to collect them is not the broker's work."""
    gc.disable()
    yield
    gc.enable()


def metadata() -> MetadataRequest:
    topics = [MetadataRequestTopic(name=f"none-{number}") for number in range(HUGE)]
    return MetadataRequest(topics, allow_auto_topic_creation=False)


async def joining(broker: test_broker, connect: Any, nursery: trio.Nursery) -> None:
    """The second member waits until the first one joins again, which it never does."""
    first = await connect(broker)
    await find(first)
    assert (await join(first, others=PROTOCOLS)).error_code == 0
    group = broker._running.services.group_coordinator.interventions.group("group")
    assert group is not None
    second = await connect(broker)
    nursery.start_soon(lambda: join(second, others=PROTOCOLS))
    await until(lambda: len(group.members) == 2)


async def held(broker: test_broker, connect: Any, nursery: trio.Nursery) -> None:
    await with_fault(hold, broker, connect, nursery)


async def silent(broker: test_broker, connect: Any, nursery: trio.Nursery) -> None:
    await with_fault(silence.before, broker, connect, nursery)


async def with_fault(action: Any, broker: test_broker, connect: Any, nursery: trio.Nursery) -> None:
    fault = await broker.asynchronous.fault("Metadata", do=action)
    nursery.start_soon((await connect(broker)).ask, metadata())
    await broker.asynchronous.wait.fault(fault)


@pytest.mark.parametrize("waiting", [joining, held, silent])
async def test_a_huge_request_that_waits(connect: Any, waiting: Any) -> None:
    config = {**FEW_PARTITIONS, "group.initial.rebalance.delay.ms": "0"}
    async with test_broker(config) as broker, trio.open_nursery() as nursery:
        broker._running._dispatcher._memory = RequestMemory(1)
        await waiting(broker, connect, nursery)
        with trio.fail_after(9):  # less than the members' time for a rebalance
            answer = await (await connect(broker)).ask(metadata())
        assert len(answer.topics) == HUGE
        nursery.cancel_scope.cancel()
