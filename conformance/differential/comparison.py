"""Both sides, asked together."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.differential.accepted import ANOTHER_ORDER, Accepted, accepted
from conformance.differential.broker_side import Body, Side
from conformance.differential.normalize import (
    count_leaves,
    differences,
    error_codes,
    in_one_order,
    reordered,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)

__all__ = ["Difference", "Pair", "Tally", "error_codes", "wait_for_topic"]

SECONDS = 15


class Difference(AssertionError):
    """The two answered differently; the message names each field, `where` the first of them."""

    def __init__(self, message: str, where: str = "") -> None:
        super().__init__(message)
        self.where = where


@dataclass
class Tally:
    """Counts of what was compared, by source of the requests."""

    requests: Counter[tuple[ApiKey, int]] = field(default_factory=Counter)
    errors: Counter[tuple[ApiKey, int]] = field(default_factory=Counter)
    fields: int = 0
    closed: int = 0
    seconds: float = 0.0
    differences: list[str] = field(default_factory=list)
    accepted: Counter[Accepted] = field(default_factory=Counter)


class Pair:
    """The reference, and the broker under test."""

    def __init__(self, reference: Side, tested: Side) -> None:
        self.reference, self.tested = reference, tested
        self.tallies: dict[str, Tally] = {}
        self.tally = Tally()
        self.source = ""

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.reference, self.tested

    def count_for(self, source: str) -> None:
        """From now on what is compared counts for this source of requests."""
        self.source = source
        self.tally = self.tallies.setdefault(source, Tally())

    def ask(
        self, api: ApiKey, version: int, body: Body, *, connection: str = "main", retry: int = 0
    ) -> tuple[Any, Any]:
        """Send the same request to both; the two answers, which must be the same.

        `retry` is an error code that says "not yet": what the clients ask again for, so do we.
        """
        if retry:
            reference, tested = (
                asked(side, api, version, body, connection, retry) for side in self.sides
            )
        else:
            for side in self.sides:
                side.send(api, version, body, connection)
            reference, tested = (side.receive(api, version, connection) for side in self.sides)
        self.compare(f"{api.name} v{version}", reference, tested, api=api, version=version)
        return reference, tested

    def compare(
        self,
        what: str,
        reference: Any,
        tested: Any,
        *,
        api: ApiKey | None = None,
        version: int = 0,
    ) -> None:
        """Raises Difference. Counts as a request of `api`, if that is given."""
        expected = self.reference.names.plain(reference)
        seen = self.tested.names.plain(tested)
        tally = self.tally
        if api is not None:
            tally.requests[api, version] += 1
            for code in error_codes(reference):
                tally.errors[api, code] += 1
        tally.fields += count_leaves(expected)
        tally.closed += reference is None
        lines: list[str] = []
        if expected != seen:
            lines += [f"{path}: {ANOTHER_ORDER}" for path in reordered(expected, seen, what)]
            expected, seen = in_one_order(expected), in_one_order(seen)
        self.judge([*lines, *differences(expected, seen, what)])

    def judge(self, lines: Sequence[str]) -> None:
        """Count the differences that are accepted. Raises Difference for the others."""
        found = []
        for line in lines:
            entry = accepted(line)
            if entry is None:
                found.append(line)
            else:
                self.tally.accepted[entry] += 1
        if found:
            if found[0] not in self.tally.differences:
                self.tally.differences.append(found[0])
            text = ["Apache Kafka (-), the broker under test (+)", *found]
            raise Difference("\n".join(text), found[0].split(":", 1)[0])

    def settle(self) -> None:
        for side in self.sides:
            side.settle()

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
        for side in self.sides:
            answer = side.ask(ApiKey.CREATE_TOPICS, 7, CreateTopicsRequest(topics=[topic]), "ids")
            assert answer.topics[0].error_code == ErrorCode.NONE, answer
        self.settle()
        for side in self.sides:
            side.topic_id(name)
        return name


def wait_for_topic(side: Side, name: str, partitions: int) -> None:
    """Until the node has made the topic its own, with so many partitions."""
    side.settle()
    assert side.topic_id(name).int, (name, partitions)


def asked(side: Side, api: ApiKey, version: int, body: Body, connection: str, retry: int) -> Any:
    deadline = time.monotonic() + SECONDS
    while True:
        answer = side.ask(api, version, body, connection)
        if not retry or retry not in error_codes(answer) or time.monotonic() > deadline:
            return answer
