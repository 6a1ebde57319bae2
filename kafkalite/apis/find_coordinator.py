"""FindCoordinator: which node coordinates a group or a transactional id.

It is the leader of the key's partition of an internal topic, which is created here at first need.
v1 knows transactions, v4 asks for several keys at once (KIP-699), v6 knows share partitions.
Kafka: KafkaApis.handleFindCoordinatorRequest.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Coroutine, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from kafkalite.requests.slices import Steps, batches, in_slices, mapped
from kafkalite.requests.topic_names import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from kafkalite.wire.api_keys import (
    FIND_COORDINATOR_BATCHED_SINCE,
    FIND_SHARE_COORDINATOR_SINCE,
    CoordinatorType,
)
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import MALFORMED, ErrorCode, KafkaError
from kafkalite.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext
    from kafkalite.services import Services

# So many keys are looked up in one go.
_FEW: Final = 50
_TOPICS: Final[Mapping[int, str]] = {
    CoordinatorType.GROUP: OFFSETS_TOPIC,
    CoordinatorType.TRANSACTION: TRANSACTIONS_TOPIC,
    CoordinatorType.SHARE: SHARE_STATE_TOPIC,
}


def handle(
    services: Services, context: RequestContext, request: FindCoordinatorRequest
) -> FindCoordinatorResponse | Coroutine[Any, Any, FindCoordinatorResponse]:
    """Answer for each key, as soon as the topic is there."""
    is_batch = context.api_version >= FIND_COORDINATOR_BATCHED_SINCE
    keys = request.coordinator_keys if is_batch else [request.key]
    topic = _TOPICS.get(request.key_type)
    is_missing = topic is not None and services.topics.get(topic) is None
    if is_missing or len(keys) > _FEW:
        return _find_in_slices(services, context, request, keys)
    return _response(context, [_find(services, context, request, key) for key in keys])


async def _find_in_slices(
    services: Services, context: RequestContext, request: FindCoordinatorRequest, keys: list[str]
) -> FindCoordinatorResponse:
    topic = _TOPICS.get(request.key_type)
    if topic is not None and await in_slices(_knows_any(context, request.key_type, keys), context):
        await services.topics.ready_internal(topic, context)
    look_up = partial(_find, services, context, request)
    return _response(context, await in_slices(mapped(look_up, keys), context))


def _find(
    services: Services, context: RequestContext, request: FindCoordinatorRequest, key: str
) -> Coordinator:
    found = find(services, context, request.key_type, key)
    if context.api_version >= FIND_COORDINATOR_BATCHED_SINCE and request.key_type in _TOPICS:
        found.error_message = ""  # Apache Kafka says nothing more of these
    return found


def _response(context: RequestContext, coordinators: list[Coordinator]) -> FindCoordinatorResponse:
    if context.api_version >= FIND_COORDINATOR_BATCHED_SINCE:
        return FindCoordinatorResponse(coordinators=coordinators)
    (found,) = coordinators
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or ErrorCode.NONE.name,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def find(services: Services, context: RequestContext, key_type: int, key: str) -> Coordinator:
    """The coordinator of one key, or why there is none."""
    try:
        topic_name = _TOPICS.get(key_type)
        if topic_name is None or not _is_known(context, key_type, key):
            raise KafkaError(ErrorCode.INVALID_REQUEST, MALFORMED)
        leader_id = services.topics.create_internal(topic_name).coordinating(key).coordinator_id
        addresses = services.cluster.endpoints([leader_id], context.listener_name)
        if not addresses:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    except KafkaError as refused:
        # The hindrance to the topic's creation passes: another node comes up, say.
        known = (ErrorCode.INVALID_REQUEST, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        code = refused.code if refused.code in known else ErrorCode.COORDINATOR_NOT_AVAILABLE
        return Coordinator(
            key=key,
            node_id=-1,
            host="",
            port=-1,
            error_code=code,
            error_message=default_message(code),
        )
    (address,) = addresses
    return Coordinator(key=key, node_id=address.id, host=address.host, port=address.port)


def _knows_any(context: RequestContext, key_type: int, keys: list[str]) -> Steps[bool]:
    """True if one of the keys may have a coordinator."""
    for some in batches(keys):
        if any(_is_known(context, key_type, key) for key in some):
            return True
        yield
    return False


def _is_known(context: RequestContext, key_type: int, key: str) -> bool:
    return key_type != CoordinatorType.SHARE or (
        context.api_version >= FIND_SHARE_COORDINATOR_SINCE and _is_share_partition(key)
    )


def _is_share_partition(key: str) -> bool:
    """True if it is a group id, a topic id and a partition, as Kafka's SharePartitionKey reads
    them."""
    group_id, _, rest = key.rpartition(":")[0].rpartition(":")
    partition = key.rpartition(":")[2]
    try:
        topic_id = urlsafe_b64decode(rest + "==")
        int(partition)
    except ValueError:
        return False
    return bool(group_id.strip()) and len(topic_id) == 16
