"""Responses that refuse: for each API the response that says one error of everything asked.

Where a response answers a list of the request element by element, MIRRORS says how: the two lists,
what an answer takes over from what was asked, and the values it has beside the error. One element
can be refused alone by `refused_element`.

Source: `getErrorResponse` of Kafka's request classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kafkalite.requests.slices import Steps, at_once, mapped_in_steps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.schema import Field, fields_of

# A plain value as element of a list: the value itself.
ITSELF: Final = ""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A list in a request and the list in the response that answers it.

    `taken` maps fields of the answer to those of the question; `given` are values an answer has
    beside the error. Without an `inner` list the error stands in the elements of this one.
    """

    asked: str
    answered: str
    taken: Mapping[str, str]
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inner: Mirror | None = None


_TOPIC_AND_ID: Final = {"name": "name", "topic_id": "topic_id"}
_NAME: Final = {"name": "name"}
_INDEX: Final = {"partition_index": "partition_index"}
_ITSELF_INDEX: Final = {"partition_index": ITSELF}
_NO_OFFSET: Final = {"committed_offset": -1, "committed_leader_epoch": -1, "metadata": ""}
_CONFIG: Final = {"resource_type": "resource_type", "resource_name": "resource_name"}


def _topics(inner: Mirror, taken: Mapping[str, str] = _NAME) -> Mirror:
    return Mirror("topics", "topics", taken, inner=inner)


_PARTITIONS: Final = Mirror("partitions", "partitions", _INDEX)
_SHARE_STATE: Final = Mirror(
    "topics",
    "results",
    {"topic_id": "topic_id"},
    inner=Mirror("partitions", "partitions", {"partition": "partition"}),
)

# The first that belongs to the version of the request counts.
MIRRORS: Final[Mapping[ApiKey, Sequence[Mirror]]] = {
    ApiKey.PRODUCE: [
        Mirror(
            "topic_data",
            "responses",
            _TOPIC_AND_ID,
            inner=Mirror(
                "partition_data", "partition_responses", {"index": "index"}, {"base_offset": -1}
            ),
        )
    ],
    ApiKey.LIST_OFFSETS: [_topics(_PARTITIONS)],
    ApiKey.METADATA: [Mirror("topics", "topics", _TOPIC_AND_ID)],
    ApiKey.OFFSET_COMMIT: [_topics(_PARTITIONS, _TOPIC_AND_ID)],
    ApiKey.OFFSET_FETCH: [
        Mirror(
            "topics",
            "topics",
            _NAME,
            inner=Mirror("partition_indexes", "partitions", _ITSELF_INDEX, _NO_OFFSET),
        ),
        Mirror("groups", "groups", {"group_id": "group_id"}),
    ],
    ApiKey.FIND_COORDINATOR: [
        Mirror("coordinator_keys", "coordinators", {"key": ITSELF}, {"node_id": -1, "port": -1})
    ],
    ApiKey.DESCRIBE_GROUPS: [Mirror("groups", "groups", {"group_id": ITSELF})],
    ApiKey.CREATE_TOPICS: [Mirror("topics", "topics", _NAME)],
    ApiKey.DELETE_TOPICS: [
        Mirror("topics", "responses", _TOPIC_AND_ID),
        Mirror("topic_names", "responses", {"name": ITSELF}),
    ],
    ApiKey.DELETE_RECORDS: [
        _topics(Mirror("partitions", "partitions", _INDEX, {"low_watermark": -1}))
    ],
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [
        _topics(Mirror("partitions", "partitions", {"partition": "partition"}), {"topic": "topic"})
    ],
    ApiKey.ADD_PARTITIONS_TO_TXN: [
        Mirror(
            "v3_and_below_topics",
            "results_by_topic_v3_and_below",
            _NAME,
            inner=Mirror("partitions", "results_by_partition", _ITSELF_INDEX),
        )
    ],
    ApiKey.WRITE_TXN_MARKERS: [
        Mirror(
            "markers",
            "markers",
            {"producer_id": "producer_id"},
            inner=_topics(Mirror("partition_indexes", "partitions", _ITSELF_INDEX)),
        )
    ],
    ApiKey.TXN_OFFSET_COMMIT: [_topics(_PARTITIONS)],
    ApiKey.CREATE_ACLS: [Mirror("creations", "results", {})],
    ApiKey.DELETE_ACLS: [Mirror("filters", "filter_results", {})],
    ApiKey.DESCRIBE_CONFIGS: [Mirror("resources", "results", _CONFIG)],
    ApiKey.ALTER_CONFIGS: [Mirror("resources", "responses", _CONFIG)],
    ApiKey.INCREMENTAL_ALTER_CONFIGS: [Mirror("resources", "responses", _CONFIG)],
    ApiKey.CREATE_PARTITIONS: [Mirror("topics", "results", _NAME)],
    ApiKey.DELETE_GROUPS: [Mirror("groups_names", "results", {"group_id": ITSELF})],
    ApiKey.ELECT_LEADERS: [
        Mirror(
            "topic_partitions",
            "replica_election_results",
            {"topic": "topic"},
            inner=Mirror("partitions", "partition_result", {"partition_id": ITSELF}),
        )
    ],
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: [Mirror("topics", "responses", _NAME, inner=_PARTITIONS)],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: [
        _topics(Mirror("partition_indexes", "partitions", _ITSELF_INDEX))
    ],
    ApiKey.OFFSET_DELETE: [_topics(_PARTITIONS)],
    ApiKey.ALTER_CLIENT_QUOTAS: [Mirror("entries", "entries", {"entity": "entity"})],
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: [Mirror("users", "results", {})],
    ApiKey.DESCRIBE_PRODUCERS: [_topics(Mirror("partition_indexes", "partitions", _ITSELF_INDEX))],
    ApiKey.DESCRIBE_TRANSACTIONS: [
        Mirror("transactional_ids", "transaction_states", {"transactional_id": ITSELF})
    ],
    ApiKey.CONSUMER_GROUP_DESCRIBE: [Mirror("group_ids", "groups", {"group_id": ITSELF})],
    ApiKey.SHARE_GROUP_DESCRIBE: [Mirror("group_ids", "groups", {"group_id": ITSELF})],
    ApiKey.STREAMS_GROUP_DESCRIBE: [Mirror("group_ids", "groups", {"group_id": ITSELF})],
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: [Mirror("topics", "topics", _NAME)],
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: [_SHARE_STATE],
    ApiKey.READ_SHARE_GROUP_STATE: [_SHARE_STATE],
    ApiKey.WRITE_SHARE_GROUP_STATE: [_SHARE_STATE],
    ApiKey.DELETE_SHARE_GROUP_STATE: [_SHARE_STATE],
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: [_SHARE_STATE],
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: [Mirror("groups", "groups", {"group_id": "group_id"})],
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: [
        Mirror("topics", "responses", {"topic_name": "topic_name"}, inner=_PARTITIONS)
    ],
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: [
        Mirror("topics", "responses", {"topic_name": "topic_name"})
    ],
}
# These say the error for the whole only, though their elements could say it, too.
_ERROR_AT_THE_TOP: Final = frozenset(
    {
        ApiKey.OFFSET_FETCH,
        ApiKey.OFFSET_DELETE,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    }
)


def mirror_of(api_key: ApiKey, request: object) -> Mirror | None:
    """The mirror for a request; the last one where several could be meant and none has elements."""
    found: Mirror | None = None
    for mirror in MIRRORS.get(api_key, ()):
        found = mirror
        if getattr(request, mirror.asked):
            break
    return found


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
