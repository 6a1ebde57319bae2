"""Both sides, asked together."""

import json
import time
from typing import Any

from conformance.differential.side import Body, Side
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from kafkalite.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

SECONDS = 15


class Pair:
    """The reference, and the broker under test."""

    def __init__(self, reference: Side, tested: Side) -> None:
        self.reference, self.tested = reference, tested
        self.fields_compared = 0

    def ask(
        self, api: ApiKey, version: int, body: Body, *, connection: str = "main", retry: int = 0
    ) -> tuple[Any, Any]:
        """Send the same request to both; the two answers, which must be the same.

        `retry` is an error code that says "not yet": what the clients ask again for, so do we.
        """
        reference = asked(self.reference, api, version, body, connection, retry)
        tested = asked(self.tested, api, version, body, connection, retry)
        self.compare(f"{api.name} v{version}", reference, tested)
        return reference, tested

    def compare(self, what: str, reference: Any, tested: Any) -> None:
        expected = canonical(self.reference.plain(reference))
        seen = canonical(self.tested.plain(tested))
        found = differences(expected, seen, what)
        self.fields_compared += count_leaves(expected)
        assert not found, "\n".join(["Apache Kafka (-) and the broker under test (+)", *found])

    def create_topic(self, name: str, partitions: int = 1, **configs: str) -> str:
        """Make it on both sides, and wait until both know it and its id."""
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[
                CreatableTopicConfig(name=key.replace("_", "."), value=value)
                for key, value in configs.items()
            ],
        )
        for side in (self.reference, self.tested):
            answer = side.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic]), "ids")
            assert answer.topics[0].error_code == ErrorCode.NONE, answer
            wait_for_topic(side, name, partitions)
            side.topic_id(name)
        return name


def asked(side: Side, api: ApiKey, version: int, body: Body, connection: str, retry: int) -> Any:
    deadline = time.monotonic() + SECONDS
    while True:
        answer = side.ask(api, version, body, connection)
        if not retry or retry not in error_codes(answer) or time.monotonic() > deadline:
            return answer


def error_codes(answer: Any) -> set[int]:
    """All error codes anywhere in an answer."""
    if isinstance(answer, list):
        return set().union(*map(error_codes, answer)) if answer else set()
    found: set[int] = set()
    for name in getattr(type(answer), "__slots__", ()):
        value = getattr(answer, name)
        found |= {value} if name == "error_code" else error_codes(value)
    return found


def wait_for_topic(side: Side, name: str, partitions: int) -> None:
    """Apache Kafka answers the creation, then learns of the topic, then of its leadership."""
    deadline = time.monotonic() + SECONDS
    latest = [ListOffsetsPartition(partition_index=i, timestamp=-1) for i in range(partitions)]
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=name, partitions=latest)]
    )
    while error_codes(answer := side.ask(ApiKey.LIST_OFFSETS, 7, request, "ids")) != {0}:
        assert time.monotonic() < deadline, answer


def canonical(value: Any) -> Any:
    """Lists of structs in one order: the protocol promises none."""
    if isinstance(value, dict):
        return {name: canonical(item) for name, item in value.items()}
    if isinstance(value, list):
        items = [canonical(item) for item in value]
        if all(isinstance(item, dict) for item in items):
            items.sort(key=lambda item: json.dumps(item, sort_keys=True))
        return items
    return value


def differences(expected: Any, seen: Any, path: str) -> list[str]:
    """A line for each leaf that differs."""
    if isinstance(expected, dict) and isinstance(seen, dict):
        return [
            line
            for name in expected
            for line in differences(expected[name], seen.get(name), f"{path}.{name}")
        ]
    if isinstance(expected, list) and isinstance(seen, list) and len(expected) == len(seen):
        return [
            line
            for index, pair in enumerate(zip(expected, seen, strict=True))
            for line in differences(*pair, f"{path}[{index}]")
        ]
    return [] if expected == seen else [f"{path}:\n  - {expected!r}\n  + {seen!r}"]


def count_leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(map(count_leaves, value.values()))
    if isinstance(value, list):
        return sum(map(count_leaves, value))
    return 1
