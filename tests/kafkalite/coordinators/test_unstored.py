"""An answer waits for the updates that its acknowledgements rest on, as they were when it made
them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import trio
import trio.testing

from kafkalite.coordinators.share_persister import PendingWrite
from kafkalite.coordinators.unstored import Unstored, for_each
from kafkalite.replica.share.share_partition import SharePartitionKey, StateUpdate
from kafkalite.replica.share.share_sessions import TopicPartitionId
from kafkalite.wire.errors import ErrorCode, KafkaError

GROUP, TOPIC = "queue", UUID(int=1)
P, Q = TopicPartitionId(TOPIC, 0), TopicPartitionId(TOPIC, 1)


class Persister:
    """Has one update on its way for each key."""

    def __init__(self) -> None:
        self.writes = {
            SharePartitionKey(GROUP, *where): PendingWrite(0, 0, StateUpdate(0, 0, []))
            for where in (P, Q)
        }

    def pending(self, key: SharePartitionKey) -> PendingWrite | None:
        return self.writes.get(key)


async def move_to_task() -> None:
    """It is in one."""


CONTEXT: Any = SimpleNamespace(connection=SimpleNamespace(move_to_task=move_to_task))


async def test_an_update_that_fails_before_the_answer_waits_is_told() -> None:
    persister: Any = Persister()
    unstored = Unstored(persister, GROUP)
    unstored.note(P)
    unstored.note(Q)
    persister.writes.pop(SharePartitionKey(GROUP, *P)).end(
        KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    )
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stored_later, persister)
        outcomes = await unstored.stored(CONTEXT, {P: None, Q: None})
    assert outcomes[P] is not None
    assert outcomes[Q] is None


async def stored_later(persister: Persister) -> None:
    await trio.testing.wait_all_tasks_blocked()
    persister.writes[SharePartitionKey(GROUP, *Q)].end(None)


async def test_without_a_persister_nothing_is_waited_for() -> None:
    unstored = Unstored(None, GROUP)
    unstored.note(P)
    outcomes = {P: None}
    assert await unstored.stored(CONTEXT, outcomes) is outcomes


async def test_others_have_their_turn_while_tasks_are_begun() -> None:
    begun: list[int] = []
    seen: list[int] = []

    async def ask(number: int) -> None:
        begun.append(number)

    class Looking(trio.abc.Instrument):
        def after_task_step(self, task: trio.lowlevel.Task) -> None:
            seen.append(len(begun))

    trio.lowlevel.add_instrument(looking := Looking())
    await for_each(ask, ((number,) for number in range(1000)))
    trio.lowlevel.remove_instrument(looking)
    assert sorted(begun) == list(range(1000))
    assert len(set(seen)) > 10
