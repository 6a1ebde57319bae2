"""Responses that refuse: for each API the response that says one error of everything asked.

Where a response answers a list of the request element by element, `mirrors` says how. One element
can be refused alone by `refused`.

Source: `getErrorResponse` of Kafka's request classes; conformance/java_codec/test_refusals.py
compares them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from kafkalite.requests.mirrors import ITSELF, Mirror, each_once, mirror_of
from kafkalite.requests.slices import Steps, at_once, mapped_in_steps
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import response_class
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ERROR_FIELDS, ErrorCode
from kafkalite.wire.schema import LAST_VERSION, Field, fields_of

# The first versions that say the error for the whole only, where they have a field for it, though
# their elements could say it, too.
_AT_THE_TOP_SINCE: Final = {
    ApiKey.FETCH: 13,
    ApiKey.OFFSET_FETCH: 2,
    ApiKey.ADD_PARTITIONS_TO_TXN: 4,
    ApiKey.OFFSET_DELETE: 0,
    ApiKey.DESCRIBE_QUORUM: 0,
    ApiKey.SHARE_FETCH: 0,
    ApiKey.SHARE_ACKNOWLEDGE: 0,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: 0,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: 0,
}
# These tell Kafka's own text of the code, whatever the message.
_TELL_THE_CODE: Final = frozenset(
    {
        ApiKey.FIND_COORDINATOR,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
        ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    }
)
# These do so only if there is no message; all others tell nothing then.
_TELL_THE_CODE_AT_LEAST: Final = (ApiKey.UNREGISTER_BROKER, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS)
# These tell nothing in any case, though they could.
_TELL_NOTHING: Final = frozenset(
    {
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.DELETE_TOPICS,
        ApiKey.DESCRIBE_PRODUCERS,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.CONSUMER_GROUP_DESCRIBE,
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_DESCRIBE,
    }
)
# In these an element is refused once, however often it is named.
_EACH_ONCE: Final = (ApiKey.PRODUCE, ApiKey.WRITE_TXN_MARKERS)
# Values that responses have beside the error.
_GIVEN: Final[Mapping[ApiKey, Mapping[str, Any]]] = {
    ApiKey.FIND_COORDINATOR: {"node_id": -1, "port": -1},
    ApiKey.JOIN_GROUP: {"protocol_name": None},
    ApiKey.INIT_PRODUCER_ID: {"producer_epoch": -1},
    ApiKey.CREATE_DELEGATION_TOKEN: {
        "principal_type": "User",
        "principal_name": "ANONYMOUS",
        "token_requester_principal_type": "User",
        "token_requester_principal_name": "ANONYMOUS",
        "issue_timestamp_ms": -1,
        "expiry_timestamp_ms": -1,
        "max_timestamp_ms": -1,
    },
    ApiKey.DESCRIBE_CLIENT_QUOTAS: {"entries": None},
}
# The elements that these answer are the topics of all directories, and the users of two lists.
_DIRECTORIES: Final = Mirror(
    "dirs",
    "results",
    {"topic_name": "name"},
    inner=Mirror("partitions", "partitions", {"partition_index": ITSELF}),
)
_USERS: Final = Mirror("upsertions", "results", {"user": ITSELF})


def refuse(
    api_key: ApiKey, version: int, request: Any, code: ErrorCode, message: str | None = None
) -> Any | None:
    """The response that says this of everything asked; None where no response is expected."""
    return at_once(refuse_in_steps(api_key, version, request, code, message))


def refuse_in_steps(
    api_key: ApiKey,
    version: int,
    request: Any,
    code: ErrorCode,
    message: str | None = None,
    *,
    insists: bool = False,
) -> Steps[Any | None]:
    """The same in steps. `insists`: a message is told as it is, even where Kafka tells another
    text, or none.
    """
    if api_key is ApiKey.PRODUCE and request.acks == 0:
        return None
    if message is None or not insists:
        message = _text(api_key, code, message)
    response: Any = response_class(api_key)()
    fields = _fields(response.__class__)
    _give(response, fields, version, _GIVEN.get(api_key, {}))
    has_top = _say(response, fields, version, code, message)
    if api_key is ApiKey.FETCH and fields["session_id"].is_in(version):
        response.session_id = request.session_id
    if has_top and version >= _AT_THE_TOP_SINCE.get(api_key, LAST_VERSION):
        return response
    mirror, elements = _asked(api_key, request)
    if mirror is not None and fields[mirror.answered].is_in(version):
        if api_key in _EACH_ONCE:
            elements = yield from each_once(mirror, elements)
        answered = fields[mirror.answered]
        answers = yield from mapped_in_steps(
            lambda each: _refused(mirror, answered, each, version, code, message, False), elements
        )
        _adapt(api_key, answers)
        setattr(response, mirror.answered, answers)
    return response


def _text(api_key: ApiKey, code: ErrorCode, message: str | None) -> str | None:
    if api_key in _TELL_NOTHING:
        return None
    if api_key in _TELL_THE_CODE or (message is None and api_key in _TELL_THE_CODE_AT_LEAST):
        return default_message(code)
    return message


def refused(
    api_key: ApiKey,
    mirror: Mirror,
    element: Any,
    code: ErrorCode,
    message: str | None = None,
    *,
    version: int = LAST_VERSION,
    is_inner: bool = False,
    innermost: bool = False,
) -> Steps[Any]:
    """The answer to one element of a request that is refused, or, with `is_inner`, to an element
    of such an element. `innermost`: to all in it, each by itself.
    """
    answered = _fields(response_class(api_key))[mirror.answered]
    if is_inner and mirror.inner is not None:
        mirror, class_ = mirror.inner, answered.element
        assert isinstance(class_, type)
        answered = _fields(class_)[mirror.answered]
    return _refused(mirror, answered, element, version, code, message, innermost)


def _refused(
    mirror: Mirror,
    answered: Field,
    element: Any,
    version: int,
    code: ErrorCode,
    message: str | None,
    innermost: bool,
) -> Steps[Any]:
    class_: Any = answered.element
    answer, fields = class_(), _fields(class_)
    _give(answer, fields, version, mirror.given)
    for ours, theirs in mirror.taken.items():
        value = element if theirs == ITSELF else getattr(element, theirs)
        if value is not None or fields[ours].nullable_in(version):
            setattr(answer, ours, value)
    inner = mirror.inner
    if (inner is None or not innermost) and _say(answer, fields, version, code, message):
        return answer
    if inner is not None:
        inner_field = fields[inner.answered]
        answers = yield from mapped_in_steps(
            lambda each: _refused(inner, inner_field, each, version, code, message, innermost),
            getattr(element, inner.asked) or (),
        )
        setattr(answer, inner.answered, answers)
    return answer


def _say(
    answer: Any, fields: Mapping[str, Field], version: int, code: ErrorCode, message: str | None
) -> bool:
    """Tells whether the answer has a field for the error."""
    _give(answer, fields, version, {"error_message": message})
    for name in ERROR_FIELDS:
        if name in fields and fields[name].is_in(version):
            setattr(answer, name, code)
            return True
    return False


def _give(
    answer: Any, fields: Mapping[str, Field], version: int, values: Mapping[str, Any]
) -> None:
    """Give what the version has a field for; null only where that may be."""
    for name, value in values.items():
        declared = fields.get(name)
        if declared is None or not declared.is_in(version):
            continue
        if value is not None or declared.nullable_in(version):
            setattr(answer, name, value)


_by_class: dict[type[Any], dict[str, Field]] = {}


def _fields(class_: type[Any]) -> dict[str, Field]:
    found = _by_class.get(class_)
    if found is None:
        found = _by_class[class_] = {each.name: each for each in fields_of(class_)}
    return found


def _asked(api_key: ApiKey, request: Any) -> tuple[Mirror | None, Iterable[Any]]:
    """The mirror, and the elements of the request that it answers."""
    if api_key is ApiKey.ALTER_REPLICA_LOG_DIRS:
        return _DIRECTORIES, [topic for each in request.dirs for topic in each.topics]
    if api_key is ApiKey.ALTER_USER_SCRAM_CREDENTIALS:
        return _USERS, sorted({each.name for each in (*request.deletions, *request.upsertions)})
    mirror = mirror_of(api_key, request)
    return mirror, () if mirror is None else getattr(request, mirror.asked) or ()


def _adapt(api_key: ApiKey, answers: list[Any]) -> None:
    """Do what does not follow from the mirror."""
    if api_key is ApiKey.METADATA:
        for topic in answers:
            topic.name = topic.name or ""
