"""Gates stand around every handler, in one order, and one that is absent is not there at all."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.apis import APIS, Api, Handler
from kafkalite.requests.context import CloseConnection
from kafkalite.server.gates import Gate, Gates, when_done
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from tests.kafkalite.server.one_dispatcher import one_dispatcher

HEARTBEAT = APIS[ApiKey.HEARTBEAT]


def noting(name: str, notes: list[str]) -> Gate:
    """A gate that notes what passes it, on both ways."""

    def gate(api: Api, handle: Handler) -> Handler:
        def guarded(services: Any, context: Any, request: Any) -> Any:
            notes.append(f"{name} {api.key.name}")

            def finish(response: Any) -> Any:
                notes.append(f"{name} done")
                return response

            return when_done(handle(services, context, request), finish)

        return guarded

    return gate


def test_the_order_of_gates() -> None:
    notes: list[str] = []
    names = ("authenticate", "authorize", "fault", "change", "flush", "count", "throttle")
    gates = Gates(**{name: noting(name, notes) for name in names})
    handle = gates.around(HEARTBEAT, lambda services, context, request: "response")
    assert handle(None, None, None) == "response"
    inwards = ["throttle", "count", "authenticate", "authorize", "fault", "change", "flush"]
    assert notes == [f"{name} HEARTBEAT" for name in inwards] + [
        f"{name} done" for name in reversed(inwards)
    ]


def test_without_gates_the_handler_is_bare() -> None:
    handle = HEARTBEAT.load()
    assert Gates().around(HEARTBEAT, handle) is handle


def test_every_api_passes_the_gates_once_per_request() -> None:
    notes: list[str] = []
    with one_dispatcher(gates=Gates(count=noting("count", notes))) as asked:
        answer = asked.ask(HeartbeatRequest(group_id="g"), ApiKey.HEARTBEAT, 4)
        assert answer.error_code == ErrorCode.NOT_COORDINATOR
        asked.ask(HeartbeatRequest(group_id="g"), ApiKey.HEARTBEAT, 3)
        asked.ask(MetadataRequest(topics=[]), ApiKey.METADATA, 12)
    assert notes == [
        *("count HEARTBEAT", "count done") * 2,
        *("count METADATA", "count done"),
    ]


def test_other_gates_from_the_next_request_on() -> None:
    notes: list[str] = []

    def refusing(api: Api, handle: Handler) -> Handler:
        def guarded(services: Any, context: Any, request: Any) -> Any:
            raise CloseConnection(f"{context.client_id} may not")

        return guarded

    with one_dispatcher() as asked:
        asked.ask(HeartbeatRequest(group_id="g"), ApiKey.HEARTBEAT, 4)
        asked.dispatcher.set_gates(Gates(authorize=refusing, count=noting("count", notes)))
        with pytest.raises(CloseConnection, match="me may not"):
            asked.ask(HeartbeatRequest(group_id="g"), ApiKey.HEARTBEAT, 4)
    assert notes == ["count HEARTBEAT"], "what is refused is counted, too"


async def test_a_gate_sees_the_response_of_a_handler_that_waits() -> None:
    notes: list[str] = []
    gates = Gates(count=noting("count", notes))
    handle = gates.around(APIS[ApiKey.JOIN_GROUP], APIS[ApiKey.JOIN_GROUP].load())
    with one_dispatcher() as asked:
        context = asked.connection().context
        handling = handle(asked.services, context, JoinGroupRequest())
        assert notes == ["count JOIN_GROUP"]
        assert (await handling).error_code == ErrorCode.INVALID_GROUP_ID
    assert notes == ["count JOIN_GROUP", "count done"]
