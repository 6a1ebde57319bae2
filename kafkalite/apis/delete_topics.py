"""DeleteTopics (key 20), versions 1-6: topics go, with their records and configs.

- v1-5 name them; v6 by name or by id (KIP-516), one of the two.
- v5+: an error message. With delete.topic.enable=false: INVALID_REQUEST below v3, then
  TOPIC_DELETION_DISABLED.

A name is free again at once; what is created under it has another id. Fetches that wait for the
topic are woken, and answered that there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING
from uuid import UUID

from kafkalite.requests.context import RefuseRequest, RequestContext, check_time
from kafkalite.requests.slices import Steps, in_slices, mapped
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from kafkalite.services import Services


async def handle(
    services: Services, context: RequestContext, request: DeleteTopicsRequest
) -> DeleteTopicsResponse:
    if not services.config.boolean("delete.topic.enable"):
        disabled = ErrorCode.TOPIC_DELETION_DISABLED
        raise RefuseRequest(disabled if context.api_version >= 3 else ErrorCode.INVALID_REQUEST)
    asked = request.topics or await in_slices(mapped(_named, request.topic_names), context)
    results: list[DeletableTopicResult] = []
    ids = await in_slices(_resolve_names(services, asked, request.timeout_ms, results), context)
    if context.charge is not None:
        await in_slices(_charge(services, context.charge, ids, results), context)
    failed = await in_slices(services.topics.deleting(ids), context)
    for topic_id, name in ids.items():
        error = failed.get(topic_id)
        results.append(
            DeletableTopicResult(
                name=name,
                topic_id=topic_id,
                error_code=ErrorCode.NONE if error is None else error.code,
                error_message=None if error is None else error.message,
            )
        )
    return DeleteTopicsResponse(responses=results)


def _resolve_names(
    services: Services,
    asked: list[DeleteTopicState],
    timeout_ms: int,
    results: list[DeletableTopicResult],
) -> Steps[dict[UUID, str]]:
    """{id: name} of what is to go; everything else is put into `results` (ControllerApis)."""

    def fail(name: str | None, topic_id: UUID, code: ErrorCode, message: str | None = None) -> None:
        results.append(
            DeletableTopicResult(
                name=name,
                topic_id=topic_id,
                error_code=code,
                error_message=message or default_message(code),
            )
        )

    invalid = ErrorCode.INVALID_REQUEST
    names: Counter[str] = Counter()
    ids: Counter[UUID] = Counter()
    for topic in asked:
        yield
        if topic.name is None and topic.topic_id == NO_UUID:
            fail(None, NO_UUID, invalid, "Neither topic name nor id were specified.")
        elif topic.name is None:
            ids[topic.topic_id] += 1
        elif topic.topic_id == NO_UUID:
            names[topic.name] += 1
        else:
            message = "You may not specify both topic name and topic id."
            fail(topic.name, topic.topic_id, invalid, message)
    if 1 in ids.values() or 1 in names.values():
        check_time(timeout_ms)
    found: dict[UUID, str] = {}
    for topic_id, count in ids.items():
        yield
        known = services.topics.by_id(topic_id)
        if count > 1:
            fail(None, topic_id, invalid, "Duplicate topic id.")
        elif known is None:
            fail(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
        else:
            found[topic_id] = known.name
    for name, count in names.items():
        yield
        known = services.topics.get(name)
        if count > 1:
            fail(name, NO_UUID, invalid, "Duplicate topic name.")
        elif known is None:
            fail(name, NO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif known.topic_id in ids:
            found.pop(known.topic_id, None)
            message = "The provided topic name maps to an ID that was already supplied."
            fail(name, known.topic_id, invalid, message)
        else:
            found[known.topic_id] = name
    return found


def _charge(
    services: Services,
    charge: Callable[[int], None],
    ids: dict[UUID, str],
    results: list[DeletableTopicResult],
) -> Steps[None]:
    """Have the client pay for what is to go; what it cannot pay for is put into `results`."""
    for topic_id, name in list(ids.items()):
        yield
        topic = services.topics.by_id(topic_id)
        try:
            charge(0 if topic is None else len(topic.partitions))
        except KafkaError as error:
            del ids[topic_id]
            results.append(
                DeletableTopicResult(
                    name=name, topic_id=topic_id, error_code=error.code, error_message=None
                )
            )


def _named(name: str) -> DeleteTopicState:
    return DeleteTopicState(name=name)
