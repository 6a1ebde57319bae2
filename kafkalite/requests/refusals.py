"""Responses that refuse: for each API the response that says one error of everything asked.

Where a response answers a list of the request element by element, `mirrors` says how. One element
can be refused alone by `refused_element`.

Source: `getErrorResponse` of Kafka's request classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafkalite.requests.mirrors import ITSELF, Mirror, each_once, mirror_of
from kafkalite.requests.slices import Steps, at_once, mapped_in_steps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.schema import Field, fields_of

# These say the error for the whole only, though their elements could say it, too.
_ERROR_AT_THE_TOP: Final = frozenset(
    {
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    }
)
# In these an element is refused once, however often it is named.
_EACH_ONCE: Final = (ApiKey.PRODUCE, ApiKey.WRITE_TXN_MARKERS)


def refuse(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Any | None:
    """The response that says this of everything asked; None where no response is expected."""
    return at_once(refuse_in_steps(api_key, version, request, code, message))


def refuse_in_steps(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Steps[Any | None]:
    """The same in steps."""
    if api_key is ApiKey.PRODUCE and request.acks == 0:
        return None
    response: Any = response_class(api_key)()
    fields = _fields(response.__class__)
    top = fields.get("error_code")
    has_top = top is not None and top.is_in(version)
    if has_top:
        response.error_code = code
    if "error_message" in fields and fields["error_message"].is_in(version):
        response.error_message = _top_message(api_key, code, message)
    mirror = mirror_of(api_key, request)
    if mirror is not None and not (has_top and api_key in _ERROR_AT_THE_TOP):
        answered = fields[mirror.answered]
        if answered.is_in(version):
            elements = getattr(request, mirror.asked) or ()
            if api_key in _EACH_ONCE:
                elements = yield from each_once(mirror, elements)
            answers = yield from mapped_in_steps(
                lambda each: refused_element(mirror, answered, each, code, message), elements
            )
            setattr(response, mirror.answered, answers)
    _SPECIAL.get(api_key, _nothing)(response, version, request, code, message)
    return response


def refused(
    api_key: ApiKey, mirror: Mirror, element: Any, code: ErrorCode, message: str | None = None
) -> Steps[Any]:
    """The answer to one element of a request that is refused."""
    answered = _fields(response_class(api_key))[mirror.answered]
    return refused_element(mirror, answered, element, code, message)


def refused_element(
    mirror: Mirror, answered: Field, element: Any, code: ErrorCode, message: str | None = None
) -> Steps[Any]:
    """An answer in the list `answered`, which says the error in itself or its inner list."""
    class_: Any = answered.element
    values = {
        ours: element if theirs == ITSELF else getattr(element, theirs)
        for ours, theirs in mirror.taken.items()
    }
    answer = class_(**values, **mirror.given)
    fields = _fields(class_)
    if mirror.inner is None:
        _say(answer, fields, code, message)
    else:
        inner, inner_field = mirror.inner, fields[mirror.inner.answered]
        answers = yield from mapped_in_steps(
            lambda each: refused_element(inner, inner_field, each, code, message),
            getattr(element, inner.asked),
        )
        setattr(answer, inner.answered, answers)
    return answer


def _say(answer: Any, fields: Mapping[str, Field], code: ErrorCode, message: str | None) -> None:
    for name in ("error_code", "partition_error_code"):
        if name in fields:
            setattr(answer, name, code)
    if message is not None and "error_message" in fields:
        answer.error_message = message


_by_class: dict[type[Any], dict[str, Field]] = {}


def _fields(class_: type[Any]) -> dict[str, Field]:
    found = _by_class.get(class_)
    if found is None:
        found = _by_class[class_] = {each.name: each for each in fields_of(class_)}
    return found


_WITH_DEFAULT_MESSAGE: Final = (
    ApiKey.FIND_COORDINATOR,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
)


def _top_message(api_key: ApiKey, code: ErrorCode, message: str | None) -> str | None:
    # Old versions of the first always say something, those of the quorum say nothing else.
    if api_key in _WITH_DEFAULT_MESSAGE:
        return default_message(code)
    return message


# Refusals that do not follow from the mirror.


def _nothing(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    pass


def _find_coordinator(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    if version < 4:
        response.node_id, response.port = -1, -1


def _init_producer_id(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    response.producer_epoch = -1


def _join_group(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    response.protocol_name = None if version >= 7 else ""


def _describe_client_quotas(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    response.entries = None


def _alter_scram(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    from kafkalite.wire.messages.alter_user_scram_credentials import AlterUserScramCredentialsResult

    users = {each.name for each in (*request.deletions, *request.upsertions)}
    response.results = [
        AlterUserScramCredentialsResult(user=user, error_code=code, error_message=message)
        for user in sorted(users)
    ]


def _alter_client_quotas(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    from kafkalite.wire.messages.alter_client_quotas import EntityData

    for entry in response.entries:
        entry.entity = [
            EntityData(entity_type=each.entity_type, entity_name=each.entity_name)
            for each in entry.entity
        ]
        entry.error_message = default_message(code)


def _describe_scram(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    for result in response.results:
        result.error_message = message


def _describe_configs(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    for result in response.results:
        result.error_message = default_message(code)


def _alter_replica_log_dirs(
    response: Any, version: int, request: Any, code: ErrorCode, message: str | None
) -> None:
    from kafkalite.wire.messages.alter_replica_log_dirs import (
        AlterReplicaLogDirPartitionResult,
        AlterReplicaLogDirTopicResult,
    )

    response.results = [
        AlterReplicaLogDirTopicResult(
            topic_name=topic.name,
            partitions=[
                AlterReplicaLogDirPartitionResult(partition_index=index, error_code=code)
                for index in topic.partitions
            ],
        )
        for directory in request.dirs
        for topic in directory.topics
    ]


_SPECIAL: Final = {
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: _describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: _alter_client_quotas,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _alter_scram,
    ApiKey.DESCRIBE_CONFIGS: _describe_configs,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: _describe_scram,
    ApiKey.ALTER_REPLICA_LOG_DIRS: _alter_replica_log_dirs,
}
