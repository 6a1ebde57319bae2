"""Rules about asking and pushing, and for how long a client is known (KIP-714)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

import pytest

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, at_once
from kafkalite.telemetry import client_instances
from kafkalite.telemetry.client_instances import ClientInstances, subscription_id
from kafkalite.telemetry.subscriptions import Wanted
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.push_telemetry import PushTelemetryRequest

NEW = UUID(int=0)
ID = UUID("01234567-89ab-4def-8123-456789abcdef")
INTERVAL_MS = 10_000
START_MS = 1_700_000_000_000


class FixedSubscriptions:
    """Asks the same of all, until it changes."""

    version = 0

    def finding_wanted(self, attributes: object) -> Steps[Wanted]:
        yield
        return Wanted(["*"], INTERVAL_MS, self.version)


@dataclass(eq=False)
class Connection:
    callbacks: list[Callable[[], None]] = field(default_factory=list)

    def when_closed(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def close(self) -> None:
        for callback in self.callbacks:
            callback()


class Node:
    """One node's instances, and a clock."""

    def __init__(self) -> None:
        self.now_ms = START_MS
        self.subscriptions: Any = FixedSubscriptions()
        self.instances = ClientInstances(self.subscriptions, lambda: self.now_ms, 100)
        self.connection = Connection()

    def context(self, connection: Connection | None = None) -> RequestContext:
        return RequestContext(
            node_id=1,
            api_key=ApiKey.PUSH_TELEMETRY,
            api_version=0,
            client_id="c",
            client_host="127.0.0.1",
            listener_name="PLAINTEXT",
            received_at=0.0,
            connection=cast(Any, connection or self.connection),
        )

    def get(self, instance_id: UUID = ID, connection: Connection | None = None) -> ErrorCode:
        try:
            at_once(self.instances.getting(self.context(connection), instance_id))
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    def push(self, **fields: Any) -> ErrorCode:
        known = subscription_id(ID, at_once(self.subscriptions.finding_wanted({})))
        request = PushTelemetryRequest(
            **({"client_instance_id": ID, "subscription_id": known} | fields)
        )
        try:
            instance = at_once(self.instances.pushing(self.context(), request))
        except KafkaError as error:
            return error.code
        instance.last_error = ErrorCode.NONE
        return ErrorCode.NONE

    def wait(self, intervals: float) -> None:
        self.now_ms += int(intervals * INTERVAL_MS)


@pytest.fixture
def node() -> Node:
    return Node()


def test_a_new_client_gets_an_id(node: Node) -> None:
    first = at_once(node.instances.getting(node.context(), NEW))
    second = at_once(node.instances.getting(node.context(), NEW))
    assert NEW not in {first.client_instance_id, second.client_instance_id}
    assert first.client_instance_id != second.client_instance_id
    assert first.attributes["client_id"] == "c"


def test_who_asks_too_soon_is_throttled(node: Node) -> None:
    assert node.get() is ErrorCode.NONE
    node.wait(0.9)
    assert node.get() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    node.wait(0.1)
    assert node.get() is ErrorCode.NONE


def test_a_push_after_the_question_may_come_at_once_and_the_next_after_an_interval(
    node: Node,
) -> None:
    node.get()
    node.wait(0.1)
    assert node.push() is ErrorCode.NONE
    assert node.push() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert node.get() is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    node.wait(1)
    assert node.push() is ErrorCode.NONE


def test_the_last_push_may_come_at_any_time_and_none_after_it(node: Node) -> None:
    node.get()
    node.push()
    assert node.push(terminating=True) is ErrorCode.NONE
    node.wait(1)
    assert node.push(terminating=True) is ErrorCode.INVALID_REQUEST
    assert node.push() is ErrorCode.INVALID_REQUEST
    # Kafka forgets about it with a push that says nothing of an end.
    assert node.push() is ErrorCode.NONE


@pytest.mark.parametrize("instance_id", [0, 1])
def test_reserved_ids(node: Node, instance_id: int) -> None:
    assert node.push(client_instance_id=UUID(int=instance_id)) is ErrorCode.INVALID_REQUEST
    assert len(node.instances) == 0


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"subscription_id": 1}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
        ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"compression_type": -1}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        ({"metrics": b"x" * 101}, ErrorCode.TELEMETRY_TOO_LARGE),
    ],
)
def test_pushes_that_are_refused(node: Node, fields: dict[str, Any], error: ErrorCode) -> None:
    node.get()
    assert node.push(**fields) is error
    may_ask_at_once = error is not ErrorCode.TELEMETRY_TOO_LARGE
    expected = ErrorCode.NONE if may_ask_at_once else ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert node.get() is expected
    assert node.get() is ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_as_many_bytes_as_are_allowed(node: Node) -> None:
    node.get()
    assert node.push(metrics=b"x" * 100) is ErrorCode.NONE


def test_changed_subscriptions_are_told_at_once(node: Node) -> None:
    node.get()
    node.push(terminating=True)
    node.subscriptions.version += 1
    assert node.get() is ErrorCode.NONE
    assert node.push() is ErrorCode.NONE


def test_an_instance_goes_with_the_connection_that_made_it_known(node: Node) -> None:
    other = Connection()
    node.get()
    node.get(UUID(int=5), other)
    other.close()
    assert len(node.instances) == 1
    node.connection.close()
    assert len(node.instances) == 0
    assert node.get() is ErrorCode.NONE


def test_a_silent_instance_is_forgotten(node: Node) -> None:
    node.get()
    node.now_ms += 59_999
    assert len(node.instances) == 1
    node.now_ms += 1
    assert len(node.instances) == 0


def test_those_that_were_not_heard_of_for_longest_make_room(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_instances, "_MOST_INSTANCES", 3)
    for number in (2, 3, 4):
        node.get(UUID(int=number))
    node.get(UUID(int=2))
    node.get(UUID(int=5))
    assert len(node.instances) == 3
    assert node.get(UUID(int=2)) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert node.get(UUID(int=3)) is ErrorCode.NONE
