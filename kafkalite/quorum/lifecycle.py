"""A broker's life as the controllers see it: registered, fenced, unfenced, let go.

    NOT_RUNNING -> STARTING -> RECOVERY -> RUNNING -> PENDING_CONTROLLED_SHUTDOWN -> SHUTTING_DOWN
                   registers   caught up   unfenced   leads nothing in the end

Each state ends with what an answer to a heartbeat says. A stop is possible in every state.
Source: BrokerLifecycleManager, BrokerState.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final
from uuid import UUID

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.quorum.channel import ControllerChannel, NoController
from kafkalite.quorum.registration import Registration, RegistrationRefused
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse

logger = logger_of(__name__)

NO_BROKER_EPOCH: Final = -1
# The interval in which a starting broker asks whether it has caught up, as in Kafka.
_STARTING_SECONDS: Final = 0.01
# The interval in which a stopping broker checks whether it may go, as in Kafka.
_SHUTDOWN_SECONDS: Final = 0.05
# After this time a broker goes although it still leads (BrokerServer.shutdown).
_SHUTDOWN_PATIENCE_SECONDS: Final = 300.0


class LifeState(Enum):
    """Kafka's BrokerState."""

    NOT_RUNNING = 0
    STARTING = 1
    RECOVERY = 2
    RUNNING = 3
    PENDING_CONTROLLED_SHUTDOWN = 6
    SHUTTING_DOWN = 7


TRANSITIONS: Final[dict[LifeState, frozenset[LifeState]]] = {
    LifeState.NOT_RUNNING: frozenset({LifeState.STARTING, LifeState.SHUTTING_DOWN}),
    LifeState.STARTING: frozenset({LifeState.RECOVERY, LifeState.SHUTTING_DOWN}),
    LifeState.RECOVERY: frozenset({LifeState.RUNNING, LifeState.SHUTTING_DOWN}),
    LifeState.RUNNING: frozenset({LifeState.PENDING_CONTROLLED_SHUTDOWN}),
    LifeState.PENDING_CONTROLLED_SHUTDOWN: frozenset({LifeState.SHUTTING_DOWN}),
    LifeState.SHUTTING_DOWN: frozenset(),
}


class Lifecycle:
    """Registers the broker, and keeps its session with the active controller."""

    def __init__(
        self,
        registration: Registration,
        channel: ControllerChannel,
        *,
        metadata_offset: Callable[[], int],
        offline_directories: Callable[[], Sequence[UUID]] = tuple,
        cordoned_directories: Callable[[], Sequence[UUID]] = tuple,
        heartbeat_seconds: float = 2.0,
        registration_seconds: float = 60.0,
    ) -> None:
        """`metadata_offset`: that of the last record in the image.

        `heartbeat_seconds` is broker.heartbeat.interval.ms, `registration_seconds` is
        initial.broker.registration.timeout.ms.
        """
        self.state = LifeState.NOT_RUNNING
        self.broker_epoch: int = NO_BROKER_EPOCH
        self.caught_up = trio.Event()
        self.unfenced = trio.Event()
        self.may_go = trio.Event()
        self.is_fenced = True
        self._registration = registration
        self._channel = channel
        self._metadata_offset = metadata_offset
        self._offline_directories = offline_directories
        self._cordoned_directories = cordoned_directories
        self._heartbeat_seconds = heartbeat_seconds
        self._registration_seconds = registration_seconds
        self._is_ready = False
        self._wants_shutdown = False
        self._nudged = trio.Event()

    # -- what the broker wants

    def ready(self) -> None:
        """The broker can serve: let it be unfenced."""
        self._is_ready = True
        self._nudge()

    def begin_shutdown(self) -> None:
        """Let others lead what this broker leads; `may_go` is set when they do."""
        self._wants_shutdown = True
        if self.state is LifeState.RUNNING:
            self._become(LifeState.PENDING_CONTROLLED_SHUTDOWN)
        elif self.state is not LifeState.PENDING_CONTROLLED_SHUTDOWN:
            self._end()
        self._nudge()

    def directories_changed(self) -> None:
        """A log directory went offline: the controllers are told with a heartbeat at once."""
        self._nudge()

    def _nudge(self) -> None:
        self._nudged.set()

    # -- the session

    async def run(self) -> None:
        """Register, then beat until the broker may go.

        Raises RegistrationRefused if the controllers will not have it, or gave no answer in time.
        """
        self._become(LifeState.STARTING)
        try:
            with trio.fail_after(self._registration_seconds):
                await self._register()
        except trio.TooSlowError:
            raise RegistrationRefused(
                f"no controller registered this broker in {self._registration_seconds:g} s"
            ) from None
        stops_at = math.inf
        while not self.may_go.is_set():
            try:
                wait_seconds = await self._beat()
            except Exception:  # whatever it is, the session must not end with it
                logger.exception("a heartbeat failed")
                wait_seconds = self._heartbeat_seconds
            if self.may_go.is_set():
                return
            if self._wants_shutdown:
                stops_at = min(stops_at, trio.current_time() + _SHUTDOWN_PATIENCE_SECONDS)
                if trio.current_time() >= stops_at:
                    logger.warning(
                        "the controllers do not let this broker stop: it stops all the same"
                    )
                    self._end()
                    return
            with trio.move_on_after(wait_seconds):
                await self._nudged.wait()
            self._nudged = trio.Event()

    async def _register(self) -> None:
        while True:
            try:
                answer = await self._channel.ask(
                    self._registration.request(), timeout_seconds=self._heartbeat_seconds
                )
            except NoController as error:
                logger.info("not registered yet: %s", error)
                continue
            if not answer.error_code:
                break
            is_first = self.broker_epoch == NO_BROKER_EPOCH
            self._registration.refused(ErrorCode(answer.error_code), is_first=is_first)
            await trio.sleep(self._heartbeat_seconds)
        self.broker_epoch = answer.broker_epoch
        logger.info("registered with broker epoch %d", self.broker_epoch)

    async def _beat(self) -> float:
        """One heartbeat; the seconds until the next."""
        try:
            answer = await self._channel.ask(
                self.heartbeat(), timeout_seconds=self._heartbeat_seconds
            )
        except NoController as error:
            logger.info("heartbeat not answered: %s", error)
            return 0.0
        if answer.error_code == ErrorCode.STALE_BROKER_EPOCH:
            # The registration is gone or replaced: this broker registers again.
            logger.warning("the controllers do not know this broker any more: registering again")
            await self._register()
            return 0.0
        if answer.error_code:
            logger.warning("heartbeat refused: %s", ErrorCode(answer.error_code).name)
            return self._heartbeat_seconds
        return self.answered(answer)

    def heartbeat(self) -> BrokerHeartbeatRequest:
        """The heartbeat to send now."""
        cordoned = None if self.state is LifeState.STARTING else list(self._cordoned_directories())
        return BrokerHeartbeatRequest(
            broker_id=self._registration.node_id,
            broker_epoch=self.broker_epoch,
            current_metadata_offset=self._metadata_offset(),
            want_fence=not self._is_ready,
            want_shut_down=self._wants_shutdown,
            offline_log_dirs=list(self._offline_directories()),
            cordoned_log_dirs=cordoned,
        )

    def answered(self, answer: BrokerHeartbeatResponse) -> float:
        """Take in an answer without an error; the seconds until the next heartbeat."""
        if self.is_fenced != answer.is_fenced:
            logger.info("%s by the controllers", "fenced" if answer.is_fenced else "unfenced")
        self.is_fenced = answer.is_fenced
        if self.state is LifeState.STARTING:
            if not answer.is_caught_up:
                return _STARTING_SECONDS
            self._become(LifeState.RECOVERY)
            self.caught_up.set()
        elif self.state is LifeState.RECOVERY and not answer.is_fenced:
            self._become(LifeState.RUNNING)
            self.unfenced.set()
        elif self.state is LifeState.PENDING_CONTROLLED_SHUTDOWN:
            if answer.should_shut_down:
                self._end()
            return _SHUTDOWN_SECONDS
        return self._heartbeat_seconds

    def _end(self) -> None:
        self._become(LifeState.SHUTTING_DOWN)
        self.may_go.set()

    def _become(self, state: LifeState) -> None:
        if state is self.state:
            return
        if state not in TRANSITIONS[self.state]:
            raise ValueError(f"{self.state} cannot become {state}")
        self.state = state
