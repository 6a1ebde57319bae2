"""Refusals: the answer of each API that says nothing but an error, as Apache Kafka makes it.

Derived from the declarations: an error of the whole where the answer has a field for one;
else the answer repeats what the request names, down to the first structs that have one.
`_ECHOES` says which lists of a request come back, `_DEFAULTS` which fields differ from their
declared defaults. Source: `getErrorResponse` of Kafka's request classes;
conformance/java_codec/test_refusals.py compares them all.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final
from uuid import UUID

from kafkalite.requests.names import class_of, partition_number
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.schema import Field, Shape, fields_of

# The list of an answer, and the list of the request that it repeats, both of the whole message.
_ECHOES: Final[dict[ApiKey, tuple[tuple[str, str], ...]]] = {
    ApiKey.PRODUCE: (("responses", "topic_data"),),
    ApiKey.FETCH: (("responses", "topics"),),
    ApiKey.LIST_OFFSETS: (("topics", "topics"),),
    ApiKey.METADATA: (("topics", "topics"),),
    ApiKey.OFFSET_COMMIT: (("topics", "topics"),),
    ApiKey.OFFSET_FETCH: (("groups", "groups"), ("topics", "topics")),
    ApiKey.FIND_COORDINATOR: (("coordinators", "coordinator_keys"),),
    ApiKey.DESCRIBE_GROUPS: (("groups", "groups"),),
    ApiKey.CREATE_TOPICS: (("topics", "topics"),),
    ApiKey.DELETE_TOPICS: (("responses", "topics"), ("responses", "topic_names")),
    ApiKey.DELETE_RECORDS: (("topics", "topics"),),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (("topics", "topics"),),
    ApiKey.ADD_PARTITIONS_TO_TXN: (
        ("results_by_topic_v3_and_below", "v3_and_below_topics"),
        ("results_by_transaction", "transactions"),
    ),
    ApiKey.WRITE_TXN_MARKERS: (("markers", "markers"),),
    ApiKey.TXN_OFFSET_COMMIT: (("topics", "topics"),),
    ApiKey.CREATE_ACLS: (("results", "creations"),),
    ApiKey.DELETE_ACLS: (("filter_results", "filters"),),
    ApiKey.DESCRIBE_CONFIGS: (("results", "resources"),),
    ApiKey.ALTER_CONFIGS: (("responses", "resources"),),
    ApiKey.CREATE_PARTITIONS: (("results", "topics"),),
    ApiKey.DELETE_GROUPS: (("results", "groups_names"),),
    ApiKey.ELECT_LEADERS: (("replica_election_results", "topic_partitions"),),
    ApiKey.INCREMENTAL_ALTER_CONFIGS: (("responses", "resources"),),
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: (("responses", "topics"),),
    ApiKey.LIST_PARTITION_REASSIGNMENTS: (("topics", "topics"),),
    ApiKey.ALTER_CLIENT_QUOTAS: (("entries", "entries"),),
    ApiKey.DESCRIBE_PRODUCERS: (("topics", "topics"),),
    ApiKey.DESCRIBE_TRANSACTIONS: (("transaction_states", "transactional_ids"),),
    ApiKey.CONSUMER_GROUP_DESCRIBE: (("groups", "group_ids"),),
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: (("topics", "topics"),),
    ApiKey.SHARE_GROUP_DESCRIBE: (("groups", "group_ids"),),
    ApiKey.INITIALIZE_SHARE_GROUP_STATE: (("results", "topics"),),
    ApiKey.READ_SHARE_GROUP_STATE: (("results", "topics"),),
    ApiKey.WRITE_SHARE_GROUP_STATE: (("results", "topics"),),
    ApiKey.DELETE_SHARE_GROUP_STATE: (("results", "topics"),),
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY: (("results", "topics"),),
    ApiKey.STREAMS_GROUP_DESCRIBE: (("groups", "group_ids"),),
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: (("groups", "groups"),),
}
# Repeated where single partitions are refused, but not where the whole request is.
_PARTITION_ECHOES: Final[dict[ApiKey, tuple[tuple[str, str], ...]]] = {
    ApiKey.OFFSET_DELETE: (("topics", "topics"),),
    ApiKey.SHARE_FETCH: (("responses", "topics"),),
    ApiKey.SHARE_ACKNOWLEDGE: (("responses", "topics"),),
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: (("responses", "topics"),),
    ApiKey.DESCRIBE_QUORUM: (("topics", "topics"),),
}
# The lists that correspond within a repeated struct, where they have different names.
_INNER: Final = {
    "partition_responses": ("partition_data",),
    "partitions": ("partitions", "partition_indexes"),
    "partition_result": ("partitions",),
    "results_by_partition": ("partitions",),
    "topic_results": ("topics",),
    "topics": ("topics",),
    "entity": ("entity",),
}
# One field under several names.
_SAME: Final = (
    ("name", "topic", "topic_name"),
    ("index", "partition_index", "partition", "partition_id"),
)
# Fields that identify a struct that stands for a plain string or number of the request.
_IDENTIFIERS: Final = (
    "group_id",
    "transactional_id",
    "key",
    "name",
    "partition_index",
    "partition_id",
    "partition",
    "index",
)
_ERRORS: Final = ("error_code", "partition_error_code")
# Kafka's answers to these leave the list of the request out in some versions.
_FIRST_WITHOUT_ECHO: Final = {ApiKey.FETCH: 13, ApiKey.ADD_PARTITIONS_TO_TXN: 4}
_OFFSET_FETCH_TOP_LEVEL_ERROR: Final = range(2, 8)

# Fields of a refusal that differ from what is declared as their default, by the name of the struct.
_DEFAULTS: Final[dict[str, dict[str, object]]] = {
    "PartitionProduceResponse": {"base_offset": -1},
    "PartitionData": {"high_watermark": -1, "records": b""},
    "OffsetFetchResponsePartition": {"committed_offset": -1},
    "OffsetFetchResponsePartitions": {"committed_offset": -1},
    "FindCoordinatorResponse": {"node_id": -1, "port": -1},
    "Coordinator": {"node_id": -1, "port": -1},
    "DeleteRecordsPartitionResult": {"low_watermark": -1},
    "InitProducerIdResponse": {"producer_epoch": -1},
    "DescribeClientQuotasResponse": {"entries": None},
    "CreateDelegationTokenResponse": {
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
}
_JOIN_GROUP_NULL_PROTOCOL: Final = 7
_FETCH_SESSIONS_SINCE: Final = 7


def refusal(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Any:
    """The answer to a request that says this error; None for a Produce that wants no answer."""
    if api_key is ApiKey.PRODUCE and request.acks == 0:
        return None
    response = _made(response_class(api_key), version)
    _set_error(response, version, code, message)
    if api_key is ApiKey.JOIN_GROUP and version >= _JOIN_GROUP_NULL_PROTOCOL:
        response.protocol_name = None
    if api_key is ApiKey.API_VERSIONS and code is ErrorCode.UNSUPPORTED_VERSION:
        response.api_keys = _own_versions(response)
    if api_key is ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
        _refuse_users(response, request, code, message)
    elif api_key is ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS:
        element = _element(class_of(response), "results")
        response.results = [
            element(error_code=int(code), error_message=message) for _ in request.users or ()
        ]
    elif api_key is ApiKey.ALTER_REPLICA_LOG_DIRS:
        for directory in request.dirs:
            _echo(response, "results", directory, "topics", version, code, message)
    elif not _is_without_echo(api_key, version):
        for answer_list, request_list in _ECHOES.get(api_key, ()):
            _echo(response, answer_list, request, request_list, version, code, message)
    if api_key is ApiKey.FETCH and version >= _FETCH_SESSIONS_SINCE:
        response.session_id = request.session_id
    elif api_key is ApiKey.METADATA:
        for topic in response.topics:
            topic.name = topic.name or ""
    return response


def partition_refusal(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Any:
    """The answer that refuses each partition by itself, and says no error of the whole.

    None where the API's answer has no errors of partitions.
    """
    if not has_partition_errors(api_key):
        return None
    response = _made(response_class(api_key), version)
    for answer_list, request_list in partition_lists(api_key):
        _echo(response, answer_list, request, request_list, version, code, message, deep=True)
    return response


def partition_lists(api_key: ApiKey) -> tuple[tuple[str, str], ...]:
    """The lists of the answer and of the request under which an API's partitions lie."""
    return _ECHOES.get(api_key, ()) + _PARTITION_ECHOES.get(api_key, ())


@cache
def has_partition_errors(api_key: ApiKey) -> bool:
    """Tells whether single partitions, or topics, of a request of this API can be refused."""
    class_ = response_class(api_key)
    return any(
        _partition_error(_element(class_, answer_list))
        for answer_list, _ in partition_lists(api_key)
    )


def _partition_error(class_: type[Any]) -> bool:
    declared = {each.name: each for each in fields_of(class_)}
    if any(name in declared for name in ("partition_index", "partition", "index", "partition_id")):
        return any(name in declared for name in _ERRORS)
    if "error_code" in declared and ("topic_id" in declared or "Topic" in class_.__name__):
        return True
    return any(
        isinstance(each.element, type)
        and each.shape is Shape.ARRAY
        and _partition_error(each.element)
        for each in declared.values()
    )


def _is_without_echo(api_key: ApiKey, version: int) -> bool:
    if api_key is ApiKey.OFFSET_FETCH:
        return version in _OFFSET_FETCH_TOP_LEVEL_ERROR
    first = _FIRST_WITHOUT_ECHO.get(api_key)
    return first is not None and version >= first


def _made(class_: type[Any], version: int) -> Any:
    """A struct with a refusal's defaults, as far as the version has the fields."""
    made = class_()
    defaults = _DEFAULTS.get(class_.__name__)
    if defaults:
        for each in fields_of(class_):
            if each.name in defaults and each.is_in(version):
                setattr(made, each.name, defaults[each.name])
    return made


def _set_error(struct: Any, version: int, code: ErrorCode, message: str | None) -> bool:
    """Set the struct's error; whether it has a field for one in this version."""
    found = False
    for each in fields_of(class_of(struct)):
        if each.name in _ERRORS and each.is_in(version):
            setattr(struct, each.name, int(code))
            found = True
        elif each.name == "error_message" and message is not None and each.is_in(version):
            struct.error_message = message
    return found


def _element(class_: type[Any], list_name: str) -> type[Any]:
    element = next(each.element for each in fields_of(class_) if each.name == list_name)
    assert isinstance(element, type)
    return element


def _declared(class_: type[Any], name: str) -> Field | None:
    return next((each for each in fields_of(class_) if each.name == name), None)


def _echo(
    answer: Any,
    answer_list: str,
    request: Any,
    request_list: str,
    version: int,
    code: ErrorCode,
    message: str | None,
    *,
    deep: bool = False,
) -> None:
    """Repeat a list of the request in the answer, each element with the error.

    `deep`: down to the partitions, whatever else on the way has a field for an error.
    """
    declared = _declared(class_of(answer), answer_list)
    asked = getattr(request, request_list, None)
    if declared is None or not declared.is_in(version) or not asked:
        return
    element = _element(class_of(answer), answer_list)
    made: list[Any] = getattr(answer, answer_list)
    made += [_echoed(element, each, version, code, message, deep=deep) for each in asked]


def _echoed(
    class_: type[Any], asked: Any, version: int, code: ErrorCode, message: str | None, *, deep: bool
) -> Any:
    answer = _made(class_, version)
    inner = [
        (each.name, source)
        for each in fields_of(class_)
        if each.shape is Shape.ARRAY and isinstance(each.element, type)
        for source in _INNER.get(each.name, ())
        if hasattr(asked, source)
    ]
    is_entity = any(name == "entity" for name, _ in inner)
    goes_on = bool(inner) and (deep or is_entity or not _has_error(class_, version))
    if not goes_on or is_entity or not deep:
        _set_error(answer, version, code, message)
    if isinstance(asked, (str, int, UUID)):
        name = next(name for name in _IDENTIFIERS if _declared(class_, name) is not None)
        setattr(answer, name, asked)
        return answer
    _copy_identity(answer, asked, version)
    if goes_on:
        for name, source in inner:
            _echo(answer, name, asked, source, version, code, message, deep=deep)
    return answer


def _has_error(class_: type[Any], version: int) -> bool:
    return any(each.name in _ERRORS and each.is_in(version) for each in fields_of(class_))


def _copy_identity(answer: Any, asked: Any, version: int) -> None:
    """Copy what says which thing this is: the fields that both have and that are no lists."""
    for each in fields_of(class_of(answer)):
        if each.shape is Shape.ARRAY or isinstance(each.element, type) or not each.is_in(version):
            continue
        if each.name not in _COPIED:
            continue
        for source in _sources(each.name):
            if hasattr(asked, source):
                value = getattr(asked, source)
                if value is not None or each.nullable_in(version):
                    setattr(answer, each.name, value)
                break


_COPIED: Final = frozenset(
    {
        "name",
        "topic",
        "topic_name",
        "topic_id",
        "index",
        "partition_index",
        "partition",
        "partition_id",
        "group_id",
        "transactional_id",
        "producer_id",
        "resource_type",
        "resource_name",
        "entity_type",
        "entity_name",
    }
)


def _sources(name: str) -> tuple[str, ...]:
    return next((same for same in _SAME if name in same), (name,))


def _refuse_users(response: Any, request: Any, code: ErrorCode, message: str | None) -> None:
    """AlterUserScramCredentials: one result per user, in the order of their names."""
    element = _element(class_of(response), "results")
    users = {each.name for each in (*request.deletions, *request.upsertions)}
    response.results = [
        element(user=user, error_code=int(code), error_message=message) for user in sorted(users)
    ]


def _own_versions(response: Any) -> list[Any]:
    """ApiVersions alone: a client whose version is unknown learns which it may ask with
    (KIP-511).
    """
    from kafkalite.apis import APIS

    api = APIS[ApiKey.API_VERSIONS]
    element = _element(class_of(response), "api_keys")
    return [
        element(
            api_key=int(api.key),
            min_version=api.advertised_min_version,
            max_version=api.max_version,
        )
    ]


def number_of(partition: Any) -> int:
    """The number of a partition in a request or an answer, a plain one or a struct."""
    return partition if isinstance(partition, int) else partition_number(partition)
