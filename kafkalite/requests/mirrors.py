"""Lists in requests and the lists in responses that answer them element by element, by API.

The two lists, what an answer takes over from what was asked, and the values it has beside an error.

Source: `getErrorResponse` of Kafka's request classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from kafkalite.requests.slices import Steps
from kafkalite.wire.api_keys import ApiKey

# A plain value as element of a list: the value itself.
ITSELF: Final = ""


@dataclass(frozen=True, slots=True)
class Mirror:
    """A list in a request and the list in the response that answers it.

    `taken` maps fields of the answer to those of the question; `given` are values an answer has
    beside the error. That stands in the outermost elements that have a field for one; where
    partitions are refused by themselves, in the innermost.
    """

    asked: str
    answered: str
    taken: Mapping[str, str]
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    inner: Mirror | None = None


_NAME: Final = {"name": "name"}
_TOPIC_ID: Final = {"topic_id": "topic_id"}
_TOPIC_AND_ID: Final = {**_NAME, **_TOPIC_ID}
_TOPIC_NAME: Final = {"topic_name": "topic_name"}
_INDEX: Final = {"partition_index": "partition_index"}
_ITSELF_INDEX: Final = {"partition_index": ITSELF}
_NO_OFFSET: Final = {"committed_offset": -1}
_CONFIG: Final = {"resource_type": "resource_type", "resource_name": "resource_name"}


def _topics(inner: Mirror, taken: Mapping[str, str] = _NAME, *, answered: str = "topics") -> Mirror:
    return Mirror("topics", answered, taken, inner=inner)


_PARTITIONS: Final = Mirror("partitions", "partitions", _INDEX)
_PARTITION_INDEXES: Final = Mirror("partition_indexes", "partitions", _ITSELF_INDEX)
_OFFSETS: Final = Mirror("partition_indexes", "partitions", _ITSELF_INDEX, _NO_OFFSET)
_ADDED: Final = Mirror("partitions", "results_by_partition", _ITSELF_INDEX)
_BY_NUMBER: Final = Mirror("partitions", "partitions", {"partition": "partition"})
_SHARE_STATE: Final = _topics(_BY_NUMBER, _TOPIC_ID, answered="results")

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
    ApiKey.FETCH: [
        _topics(
            Mirror(
                "partitions",
                "partitions",
                {"partition_index": "partition"},
                {"high_watermark": -1, "records": b""},
            ),
            {"topic": "topic", **_TOPIC_ID},
            answered="responses",
        )
    ],
    ApiKey.LIST_OFFSETS: [_topics(_PARTITIONS)],
    ApiKey.METADATA: [Mirror("topics", "topics", _TOPIC_AND_ID)],
    ApiKey.OFFSET_COMMIT: [_topics(_PARTITIONS, _TOPIC_AND_ID)],
    ApiKey.OFFSET_FETCH: [
        _topics(_OFFSETS),
        Mirror(
            "groups", "groups", {"group_id": "group_id"}, inner=_topics(_OFFSETS, _TOPIC_AND_ID)
        ),
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
    ApiKey.OFFSET_FOR_LEADER_EPOCH: [_topics(_BY_NUMBER, {"topic": "topic"})],
    ApiKey.ADD_PARTITIONS_TO_TXN: [
        Mirror("v3_and_below_topics", "results_by_topic_v3_and_below", _NAME, inner=_ADDED),
        Mirror(
            "transactions",
            "results_by_transaction",
            {"transactional_id": "transactional_id"},
            inner=_topics(_ADDED, answered="topic_results"),
        ),
    ],
    ApiKey.WRITE_TXN_MARKERS: [
        Mirror(
            "markers",
            "markers",
            {"producer_id": "producer_id"},
            inner=_topics(_PARTITION_INDEXES),
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
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: [_topics(_PARTITIONS, answered="responses")],
    ApiKey.LIST_PARTITION_REASSIGNMENTS: [_topics(_PARTITION_INDEXES)],
    ApiKey.OFFSET_DELETE: [_topics(_PARTITIONS)],
    ApiKey.ALTER_CLIENT_QUOTAS: [Mirror("entries", "entries", {"entity": "entity"})],
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: [Mirror("users", "results", {})],
    ApiKey.DESCRIBE_QUORUM: [
        _topics(Mirror("partitions", "partitions", _INDEX, {"high_watermark": -1}), _TOPIC_NAME)
    ],
    ApiKey.DESCRIBE_PRODUCERS: [_topics(_PARTITION_INDEXES)],
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
    ApiKey.SHARE_FETCH: [_topics(_PARTITIONS, _TOPIC_ID, answered="responses")],
    ApiKey.SHARE_ACKNOWLEDGE: [_topics(_PARTITIONS, _TOPIC_ID, answered="responses")],
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: [
        Mirror(
            "groups",
            "groups",
            {"group_id": "group_id"},
            inner=_topics(Mirror("partitions", "partitions", _ITSELF_INDEX), _TOPIC_NAME),
        )
    ],
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: [_topics(_PARTITIONS, _TOPIC_NAME, answered="responses")],
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: [Mirror("topics", "responses", _TOPIC_NAME)],
}


def mirror_of(api_key: ApiKey, request: object) -> Mirror | None:
    """The mirror for a request; the last one where several could be meant and none has elements."""
    found: Mirror | None = None
    for mirror in MIRRORS.get(api_key, ()):
        found = mirror
        if getattr(request, mirror.asked):
            break
    return found


def each_once(mirror: Mirror, elements: Iterable[Any]) -> Steps[list[Any]]:
    """The elements, merged where their answers are the same, without those that have nothing in
    them.

    Lists in elements are put together in the first, but for those of a marker, where the last
    counts.
    """
    inner = mirror.inner
    once: dict[tuple[Any, ...], tuple[Any, list[Any]]] = {}
    for element in elements:
        yield
        key = tuple(
            element if name == ITSELF else getattr(element, name) for name in mirror.taken.values()
        )
        found = once.setdefault(key, (element, []))[1]
        if inner is None:
            continue
        if inner.inner is not None:
            found.clear()
        found += getattr(element, inner.asked)
    if inner is None:
        return [element for element, _ in once.values()]
    merged: list[Any] = []
    for element, found in once.values():
        if found or inner.inner is not None:
            told = yield from each_once(inner, found)
            merged.append(replace(element, **{inner.asked: told}))
        yield
    return merged
