"""The updates of share states on their way to a share coordinator that acknowledgements rest on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Final

import trio

from kafkalite.wire.errors import KafkaError

if TYPE_CHECKING:
    from kafkalite.coordinators.share_persister import PendingWrite, SharePersister
    from kafkalite.replica.share.acknowledging import Outcomes
    from kafkalite.replica.share.share_sessions import TopicPartitionId
    from kafkalite.requests.context import RequestContext

# To begin a task takes 20 microseconds.
_BEGUN_AT_ONCE: Final = 64


class Unstored:
    """The updates of one request. Without a persister they are stored when they are written."""

    def __init__(self, persister: SharePersister | None, group_id: str) -> None:
        self._persister = persister
        self._group_id = group_id
        self._pending: dict[TopicPartitionId, PendingWrite] = {}

    def note(self, where: TopicPartitionId) -> None:
        """Something was acknowledged just now. Later the update may have failed, and be gone."""
        if self._persister is None:
            return
        from kafkalite.replica.share.share_partition import SharePartitionKey

        key = SharePartitionKey(self._group_id, where.topic_id, where.partition)
        write = self._persister.pending(key)
        if write is not None:
            self._pending[where] = write

    async def stored(self, context: RequestContext, outcomes: Outcomes) -> Outcomes:
        """The outcomes once all that they rest on is stored, or could not be."""
        if not self._pending:
            return outcomes
        from kafkalite.replica.share.state_errors import as_answered

        await context.connection.move_to_task()
        failed: dict[TopicPartitionId, KafkaError | None] = {}
        for where, write in self._pending.items():
            await write.done.wait()
            if write.error is not None:
                failed[where] = as_answered(write.error)
        return {**outcomes, **failed} if failed else outcomes


async def for_each(
    ask: Callable[..., Awaitable[None]], parts: Iterable[tuple[object, ...]]
) -> None:
    """Ask with each at once. Others have their turn while very many tasks are begun."""
    async with trio.open_nursery() as nursery:
        for number, part in enumerate(parts, 1):
            nursery.start_soon(ask, *part)
            if not number % _BEGUN_AT_ONCE:
                await trio.lowlevel.checkpoint()
