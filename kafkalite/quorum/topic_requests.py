"""Asks the controllers for topics that clients need: internal ones, and those created by asking.

Nothing is waited for: the client is told "not yet" and asks again. Source:
DefaultAutoTopicCreationManager.
"""

from __future__ import annotations

import logging
from typing import Final

import trio

from kafkalite.quorum.channel import ControllerChannel, NoController
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest

logger = logging.getLogger(__name__)

_TIMEOUT_SECONDS: Final = 30.0


class TopicRequests:
    """Topics that are asked for; each once at a time."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel
        self._waiting: dict[str, CreatableTopic] = {}
        self._in_flight: frozenset[str] = frozenset()
        self._wanted = trio.Event()

    def ask_for(self, topic: CreatableTopic) -> None:
        """Have a topic created, unless that is under way."""
        if topic.name not in self._in_flight:
            self._waiting[topic.name] = topic
            self._wanted.set()

    async def run(self) -> None:
        """Ask. Ends only when it is cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            topics, self._waiting = list(self._waiting.values()), {}
            self._in_flight = frozenset(topic.name for topic in topics)
            await self._create(topics)
            self._in_flight = frozenset()

    async def _create(self, topics: list[CreatableTopic]) -> None:
        request = CreateTopicsRequest(topics=topics, timeout_ms=int(_TIMEOUT_SECONDS * 1000))
        try:
            answer = await self._channel.ask(request, timeout_seconds=_TIMEOUT_SECONDS)
        except NoController as error:
            logger.warning("topics not created: %s", error)
            return
        for created in answer.topics:
            code = ErrorCode(created.error_code)
            if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                logger.warning(
                    "topic %s not created: %s %s", created.name, code.name, created.error_message
                )
