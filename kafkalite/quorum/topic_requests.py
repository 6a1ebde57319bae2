"""Asks the controllers for topics that clients need: internal ones, and those created by asking.

Nothing is waited for: the client is told "not yet" and asks again. Source:
DefaultAutoTopicCreationManager, ExpiringErrorCache.
"""

from __future__ import annotations

from typing import Final

import trio

from kafkalite.log.loggers import logger_of
from kafkalite.quorum.channel import ControllerChannel, NoController
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

logger = logger_of(__name__)

_TIMEOUT_SECONDS: Final = 30.0
_MOST_REFUSALS: Final = 1000

Refusal = tuple[float, KafkaError]
"""Until when it stands, by trio's clock, and why."""


class TopicRequests:
    """Topics that are asked for; each once at a time."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel
        self._waiting: dict[str, CreatableTopic] = {}
        self._in_flight: frozenset[str] = frozenset()
        self._retry_seconds: dict[str, float] = {}
        self._refusals: dict[str, Refusal] = {}
        self._wanted = trio.Event()

    def ask_for(self, topic: CreatableTopic, retry_seconds: float = 0.0) -> KafkaError | None:
        """Have a topic created, unless that is under way.

        A refusal stands for `retry_seconds`: it is returned instead.
        """
        until, refusal = self._refusals.get(topic.name, (0.0, None))
        if retry_seconds and refusal is not None and trio.current_time() < until:
            return refusal
        if topic.name not in self._in_flight:
            self._waiting[topic.name] = topic
            self._retry_seconds[topic.name] = retry_seconds
            self._wanted.set()
        return None

    async def run(self) -> None:
        """Ask. Ends only when it is cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            topics, self._waiting = list(self._waiting.values()), {}
            self._in_flight = frozenset(topic.name for topic in topics)
            await self._create(topics)
            for name in self._in_flight:
                del self._retry_seconds[name]
            self._in_flight = frozenset()

    async def _create(self, topics: list[CreatableTopic]) -> None:
        request = CreateTopicsRequest(topics=topics, timeout_ms=int(_TIMEOUT_SECONDS * 1000))
        try:
            answer = await self._channel.ask(request, timeout_seconds=_TIMEOUT_SECONDS)
        except NoController as error:
            logger.warning("topics not created: %s", error)
            for topic in topics:
                self._refused(topic.name, KafkaError(ErrorCode.REQUEST_TIMED_OUT, str(error)))
            return
        for created in answer.topics:
            code = ErrorCode(created.error_code)
            if code is not ErrorCode.NONE:
                self._refused(created.name, KafkaError(code, created.error_message or None))
            if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                logger.warning(
                    "topic %s not created: %s %s", created.name, code.name, created.error_message
                )

    def _refused(self, name: str, refusal: KafkaError) -> None:
        now = trio.current_time()
        self._refusals.pop(name, None)
        self._refusals[name] = now + self._retry_seconds.get(name, 0.0), refusal
        stale = [each for each, (until, _) in self._refusals.items() if until <= now]
        stale += [*self._refusals][: max(0, len(self._refusals) - len(stale) - _MOST_REFUSALS)]
        for each in stale:
            self._refusals.pop(each, None)
