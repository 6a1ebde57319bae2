"""Producer ids in blocks from the active controller, the next one asked for before one ends.

Source: RPCProducerIdManager.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.quorum.channel import REQUEST_TIMEOUT_SECONDS, ControllerChannel, NoController
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest

logger = logger_of(__name__)

_PREFETCH_SHARE: Final = 0.9
_BACKOFF_SECONDS: Final = 0.05


class ProducerIds:
    """Ids that are handed out once in the whole cluster."""

    def __init__(
        self, node_id: int, broker_epoch: Callable[[], int], channel: ControllerChannel
    ) -> None:
        self._node_id = node_id
        self._broker_epoch = broker_epoch
        self._channel = channel
        self._current: range = range(0)
        self._position = 0
        self._following: range = range(0)
        self._wanted = trio.Event()

    def take(self) -> int:
        """An id of its own. Raises KafkaError(COORDINATOR_LOAD_IN_PROGRESS) while there is none."""
        if self._position == len(self._current):
            if not self._following:
                self._wanted.set()
                raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            self._current, self._following, self._position = self._following, range(0), 0
        self._position += 1
        if not self._following and self._position >= _PREFETCH_SHARE * len(self._current):
            self._wanted.set()
        return self._current[self._position - 1]

    def prefetch(self) -> None:
        """The broker is registered: ask for the first block."""
        self._wanted.set()

    async def run(self) -> None:
        """Ask for blocks as they are needed. Ends only when it is cancelled."""
        while True:
            await self._wanted.wait()
            if not await self._ask():
                await trio.sleep(_BACKOFF_SECONDS)
                continue
            self._wanted = trio.Event()

    async def _ask(self) -> bool:
        request = AllocateProducerIdsRequest(
            broker_id=self._node_id, broker_epoch=self._broker_epoch()
        )
        try:
            answer = await self._channel.ask(request, timeout_seconds=REQUEST_TIMEOUT_SECONDS)
        except NoController as error:
            logger.warning("no producer ids: %s", error)
            return False
        if answer.error_code:
            logger.info("no producer ids: %s", ErrorCode(answer.error_code).name)
            return False
        first: int = answer.producer_id_start
        count: int = answer.producer_id_len
        self._following = range(first, first + count)
        return True
