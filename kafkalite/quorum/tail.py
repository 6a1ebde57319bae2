"""The task that keeps an observer fetching, from the active controller or, to find it, from any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.peers.link import Address, Connect, Link, PeerGone
from kafkalite.quorum.observer import Committed, Observer, Refused, Step
from kafkalite.requests.slices import WaitingSteps, in_slices_of_task
from kafkalite.wire.errors import KafkaError, ProtocolViolation

logger = logger_of(__name__)

# controller.quorum.retry.backoff.ms, where the first of Kafka's is 20 ms.
_BACKOFF_SECONDS: Final = 0.05
# controller.quorum.request.timeout.ms: the wait for records at the controller is within it.
_REQUEST_TIMEOUT_SECONDS: Final = 2.0
_SNAPSHOT_TIMEOUT_SECONDS: Final = 30.0

Publish = Callable[[Committed], WaitingSteps[None]]


class MetadataTail:
    """Fetches metadata for ever, and publishes what is committed.

    `publish` takes in a batch, in steps, between which other tasks get their turn.
    """

    def __init__(
        self,
        observer: Observer,
        bootstrap: Sequence[Address],
        publish: Publish,
        connect: Connect,
    ) -> None:
        self.caught_up = trio.Event()
        self.failure: str | None = None
        self.has_failed = trio.Event()
        self._observer = observer
        self._bootstrap = bootstrap
        self._places = self._all_places()
        self._publish = publish
        self._link = Link("kafkalite-metadata", connect)
        self._complaints: set[str] = set()
        self.turn = trio.Lock()
        """Held while metadata are handed out: they do not change as long as another task has it."""

    async def run(self) -> None:
        """Follow the quorum. Ends only when it is cancelled."""
        try:
            while True:
                await self._follow(self._observer.leader_address or next(self._places))
                await trio.sleep(_BACKOFF_SECONDS)
        finally:
            await self._link.close()

    def _all_places(self) -> Iterator[Address]:
        """The controllers to ask who leads, for ever: those of the config, then those that led.

        The config may name some of them only, which may all be gone (KIP-853).
        """
        while True:
            yield from dict.fromkeys((*self._bootstrap, *self._observer.controllers.values()))

    async def _follow(self, address: Address) -> None:
        """Ask one controller as long as it is the one to ask."""
        try:
            step = Step.AGAIN
            while step is not Step.ELSEWHERE:
                if step is Step.LATER:
                    await trio.sleep(_BACKOFF_SECONDS)
                step = await self._step(address, step)
                if step is Step.AGAIN:
                    await self._hand_out()
                if step is Step.LATER and self._observer.leader_address is None:
                    return
        except PeerGone as error:
            self._complain(f"metadata: {error}")
            self._observer.lost_leader()
        except Refused as error:
            self._fail(str(error))
            await trio.sleep(_REQUEST_TIMEOUT_SECONDS)
        except (KafkaError, ProtocolViolation) as error:
            self._fail(f"metadata that this broker cannot read: {error}")
            await trio.sleep(_REQUEST_TIMEOUT_SECONDS)

    async def _step(self, address: Address, step: Step) -> Step:
        observer, ask = self._observer, self._link.ask
        if step is Step.SNAPSHOT:
            answer = await ask(
                address, observer.fetch_snapshot(), timeout_seconds=_SNAPSHOT_TIMEOUT_SECONDS
            )
            return observer.snapshot_fetched(answer)
        answer = await ask(address, observer.fetch(), timeout_seconds=_REQUEST_TIMEOUT_SECONDS)
        return observer.fetched(answer)

    async def _hand_out(self) -> None:
        async with self.turn:
            await in_slices_of_task(self._published())
        if self._observer.has_caught_up:
            self._complaints.clear()
            self.caught_up.set()

    def _published(self) -> WaitingSteps[None]:
        for committed in self._observer.committed():
            if committed is not None:
                yield from self._publish(committed)
            yield None

    def _complain(self, text: str) -> None:
        """One line for each new trouble, not one for each attempt at each controller."""
        if text not in self._complaints:
            self._complaints.add(text)
            logger.warning("%s", text)

    def _fail(self, reason: str) -> None:
        """No retry makes this good: a start ends with it, a running broker serves on."""
        self.failure = reason
        self.has_failed.set()
        self._complain(reason)
