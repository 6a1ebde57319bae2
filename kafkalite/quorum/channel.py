"""Requests that only the active controller answers, sent again until it does.

A broker has several channels, so that nothing waits behind something slow: heartbeats, changes of
in-sync replicas, directories, and what is forwarded for clients.
Source: NodeToControllerChannelManager.
"""

from __future__ import annotations

from typing import Any, Final, Protocol

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.peers.link import Address, Connect, Link, PeerGone
from kafkalite.wire.errors import ErrorCode

logger = logger_of(__name__)

# The interval in which NodeToControllerRequestThread looks for the active controller.
_BACKOFF_SECONDS: Final = 0.1
# controller.socket.timeout.ms
REQUEST_TIMEOUT_SECONDS: Final = 30.0


class Quorum(Protocol):
    """The quorum, as far as its leader is concerned."""

    @property
    def leader_address(self) -> Address | None:
        """The active controller's; None while there is none."""
        ...


class NoController(Exception):
    """The active controller did not answer in time."""


class ControllerChannel:
    """One connection to the active controller, wherever it is by now."""

    def __init__(self, name: str, quorum: Quorum, connect: Connect) -> None:
        self._quorum = quorum
        self._link = Link(f"kafkalite-{name}", connect)
        self._complaint = ""

    async def ask(self, body: object, *, timeout_seconds: float) -> Any:
        """The active controller's answer. Raises NoController after `timeout_seconds`.

        A request whose answer was lost is sent again: each of them can be taken twice.
        """
        with trio.move_on_after(timeout_seconds):
            while True:
                answer = await self._asked_once(body)
                if answer is not None:
                    self._complaint = ""
                    return answer
                await trio.sleep(_BACKOFF_SECONDS)
        raise NoController(self._complaint or f"no active controller in {timeout_seconds:g} s")

    async def close(self) -> None:
        """Give the connection back; the next `ask` makes another."""
        await self._link.close()

    async def _asked_once(self, body: object) -> Any | None:
        address = self._quorum.leader_address
        if address is None:
            return None
        try:
            answer = await self._link.ask(address, body, timeout_seconds=REQUEST_TIMEOUT_SECONDS)
        except PeerGone as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                logger.info("controller: %s", error)
            return None
        # CreateTopics has errors of topics only; the next request for the topic asks again.
        if getattr(answer, "error_code", ErrorCode.NONE) == ErrorCode.NOT_CONTROLLER:
            return None
        return answer
