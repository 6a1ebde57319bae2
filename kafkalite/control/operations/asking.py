"""Asking a broker in its own process, through the handlers that answer its clients."""

from __future__ import annotations

import inspect
from typing import Any

from kafkalite.apis import APIS
from kafkalite.broker import Broker
from kafkalite.control.problems import Problem
from kafkalite.requests.context import RequestContext
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.rows import message_of_row, rows_of


class _NoConnection:
    """Handlers that wait do so in the task that asks."""

    async def move_to_task(self) -> None:
        """This is a task already."""


async def ask(broker: Broker, key: ApiKey, version: int, body: Any, node_id: int) -> Any:
    """The answer that a client of this node would get."""
    connection: Any = _NoConnection()
    context = RequestContext(
        node_id=node_id,
        api_key=key,
        api_version=version,
        client_id="kafkalite",
        client_host="127.0.0.1",
        listener_name=broker.listeners[0].name,
        received_at=0.0,
        connection=connection,
    )
    api = APIS[key]
    answer = api.load()(broker.services, context, rows_of(body) if api.rows else body)
    answer = await answer if inspect.isawaitable(answer) else answer
    return message_of_row(response_class(key), answer) if api.rows else answer


def refused(error: KafkaError | int, what: str) -> Problem:
    """A refusal of the broker's, as a problem."""
    if isinstance(error, KafkaError):
        code, message = error.code, error.message
    else:
        code, message = ErrorCode(error), None
    kind = "exists" if code is ErrorCode.TOPIC_ALREADY_EXISTS else "refused"
    return Problem(kind, f"{what}: {message or code.name}", value=code.name)


def check(error_code: int, what: str) -> None:
    """Raise the problem that an answer's code stands for, if it is one."""
    if error_code:
        raise refused(error_code, what)
