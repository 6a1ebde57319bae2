"""librdkafka's consumers, polled in turn until something is so."""

import time
from collections.abc import Callable

from confluent_kafka import Consumer, Message

SECONDS = 40


def poll_until(consumers: list[Consumer], done: Callable[[], bool]) -> list[Message]:
    """The messages that came meanwhile, without errors."""
    deadline = time.monotonic() + SECONDS
    messages: list[Message] = []
    while not done():
        assert time.monotonic() < deadline, [consumer.assignment() for consumer in consumers]
        for consumer in consumers:
            if (message := consumer.poll(0.02)) is not None and not message.error():
                messages.append(message)
    return messages
