"""Metadata (key 3), versions 0-13: the nodes, and topics with their partitions and leaders.

- v0: an empty list of topics means all; v1+: null means all, empty none. v0 also hides replicas
  that are down, and says so with REPLICA_NOT_AVAILABLE.
- v4+: `allow_auto_topic_creation`; before, it is always allowed. Asking for all creates nothing.
- v6+: a leader without this listener is LISTENER_NOT_FOUND, before LEADER_NOT_AVAILABLE.
- v8-10: the cluster's authorized operations; v8+: the topics' (KIP-430).
- v10+: topic ids in the answer; v12+: topics may be asked for by id (KIP-516).
- v13: an error for the whole answer.

A topic created by asking for it is not in the answer to that question, as in Kafka: it is
UNKNOWN_TOPIC_OR_PARTITION once, and clients ask again.

Producers, consumers and idle Spark streams send this all day: what it says of a topic is put
together once per change of the metadata.
"""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkalite.cluster.image import NO_LEADER
from kafkalite.cluster.topic_creation import NewTopic
from kafkalite.replica.topics import Topic
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, WaitingSteps, at_once, large_response, release_set
from kafkalite.requests.topic_names import INTERNAL_TOPICS, validate_topic_name
from kafkalite.security.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from kafkalite.wire.api_keys import METADATA_BY_ID_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.fields import NO_UUID
from kafkalite.wire.messages.metadata import (
    MetadataRequestRow,
    MetadataRequestTopicRow,
    MetadataResponseBrokerRow,
    MetadataResponsePartitionRow,
    MetadataResponseRow,
    MetadataResponseTopicRow,
)
from kafkalite.wire.rows import LargeResponse, SharedResponse
from kafkalite.wire.schema import KeptRow

if TYPE_CHECKING:
    from kafkalite.cluster.image import PartitionState
    from kafkalite.services import Services


# Clients ask for the same topics all day: responses kept since the last change of the metadata, at
# most so many, to requests for at most so many topics with at most so many partitions in all.
_MOST_KEPT: Final = 128
_MOST_TOPICS: Final = 16
_MOST_PARTITIONS: Final = 256
# Topics that are looked up in one step.
_MOST_ASKED: Final = 5000
# A response about so many topics and partitions is made in slices.
_MANY: Final = 1000
# Partitions of a topic whose bytes, once kept, are as good as nothing to send.
_FEW: Final = 20
# Partitions described in one step.
_AT_ONCE: Final = 64


def handle(
    services: Services, context: RequestContext, request: MetadataRequestRow
) -> MetadataResponseRow | SharedResponse | Coroutine[Any, Any, LargeResponse]:
    asked, *flags = request
    if asked is None or len(asked) > _MOST_TOPICS:
        described = _many_described_before(services, context, request)
        if described is not None:
            return _answer(services, context, request, described)
        steps = _response(services, context, request)
        if _is_long(services, request):
            return large_response(steps, context)
        return at_once(steps)
    kept: dict[object, SharedResponse]
    kept = services.cluster.cache.setdefault(("metadata responses", context.listener_name), {})
    # A UUID's hash is a function of Python's, and slow.
    question = (context.api_version, *flags, *[(topic_id.int, name) for topic_id, name in asked])
    known = kept.get(question)
    if known is not None:
        return known
    described = _described_before(services, context, asked)
    if described is not None:
        row = _answer(services, context, request, described)
    elif _is_long(services, request):
        return large_response(_response(services, context, request), context)
    else:
        row = at_once(_response(services, context, request))
    if len(kept) >= _MOST_KEPT or not _is_lasting(row):
        return row
    shared = kept[question] = SharedResponse(row)
    return shared


def _is_long(services: Services, request: MetadataRequestRow) -> bool:
    """True if there is much to say, or a topic to create."""
    asked, creates, *_ = request
    count = len(services.topics) if asked is None else len(asked)
    if count >= _MANY:
        return True
    if asked is None:
        return sum(len(topic.states) for topic in services.topics.all()) >= _MANY
    for topic_id, name in asked:
        found = services.topics.get(name) if name is not None else services.topics.by_id(topic_id)
        if found is not None:
            count += len(found.states)
        elif creates and name is not None:
            return True
    return count >= _MANY


def _is_lasting(row: MetadataResponseRow) -> bool:
    """True if the response stays true until the metadata change, and is small.

    Asking for a topic that does not exist may have created it.
    """
    _, _, _, _, topics, _, code = row
    if code or sum(len(topic[4]) for topic in topics) > _MOST_PARTITIONS:
        return False
    return not any(topic[0] for topic in topics)


def _response(
    services: Services, context: RequestContext, request: MetadataRequestRow
) -> WaitingSteps[MetadataResponseRow]:
    version = context.api_version
    asked, creates, _, _ = request
    by_id, is_nameless = yield from _look_at(asked or ())
    if version < METADATA_BY_ID_SINCE and (by_id or is_nameless):
        return _failed(asked or (), version, ErrorCode.INVALID_REQUEST)
    if not by_id and is_nameless:
        # Neither name nor id: Kafka has no words for it either. Where one has an id, it looks at no
        # name.
        return _failed(asked or (), version, ErrorCode.UNKNOWN_SERVER_ERROR)
    if asked is None or (version == 0 and not asked):
        topics = yield from _describe_all(services, context)
    elif by_id:
        topics = yield from _describe_by_id(services, context, asked)
    else:
        topics = yield from _describe_by_name(services, context, asked, creates=creates)
    return _answer(services, context, request, topics)


def _answer(
    services: Services,
    context: RequestContext,
    request: MetadataRequestRow,
    topics: list[Any],
) -> MetadataResponseRow:
    """`topics` are rows, of which many are kept (KeptRow): the type of a tuple would copy them."""
    _, _, with_cluster_operations, with_topic_operations = request
    if with_topic_operations:
        topics = [topic if topic[1] is None else (*topic[:5], TOPIC_OPERATIONS) for topic in topics]
    cluster = services.cluster
    return (
        0,
        _brokers(services, context.listener_name),
        cluster.cluster_id,
        cluster.controller_id,
        topics,
        CLUSTER_OPERATIONS if with_cluster_operations else NOT_ASKED,
        0,
    )


def _described_before(
    services: Services, context: RequestContext, asked: Sequence[MetadataRequestTopicRow]
) -> list[Any] | None:
    """Rows of topics, each asked for once by its name, that were made since the metadata changed.

    None if one of them is to be looked at, or if there is much to build.
    """
    names = [name for topic_id, name in asked if topic_id is NO_UUID and name is not None]
    if not names or len(set(names)) < len(asked):
        return None
    key = "metadata", context.listener_name, context.api_version
    built: dict[str, Any] = services.cluster.cache.setdefault(key, {})
    try:
        return [built[name] for name in names]
    except KeyError:
        pass
    found: list[Any] = []
    count = 0
    for name in names:
        topic = services.topics.get(name)
        said = None if topic is None else services.cluster.topic_cache.get(topic.topic_id.int)
        row: KeptRow | None = None if said is None else said.get(key)
        if row is None:
            return None
        found.append(row)
        partitions = len(row[4])
        count += partitions
        if row.encoded is not None and partitions <= _FEW:
            built[name] = row
    return found if count < _MANY else None


def _many_described_before(
    services: Services, context: RequestContext, request: MetadataRequestRow
) -> list[Any] | None:
    """The same for many topics, or for all if `_describe_all` has kept them.

    None if operations are asked for, too: the bytes that are kept have none.
    """
    asked, _, _, with_topic_operations = request
    if with_topic_operations:
        return None
    if asked is not None:
        return _described_before(services, context, asked) if len(asked) <= _MOST_ASKED else None
    rows: list[Any] | None = services.cluster.cache.get(_key_of_all(context))
    return list(rows) if rows is not None and rows[-1].encoded is not None else None


def _key_of_all(context: RequestContext) -> tuple[str, str, int]:
    return "metadata of all", context.listener_name, context.api_version


def _kind(api_version: int) -> int:
    """The first version in which the same is said of a topic as in this one."""
    return 0 if api_version == 0 else 1 if api_version < 6 else 6


def _look_at(asked: Sequence[MetadataRequestTopicRow]) -> Steps[tuple[bool, bool]]:
    """True if a topic is asked for by id, and whether one has no name."""
    by_id = is_nameless = False
    for start in range(0, len(asked), _MANY):
        yield
        for topic_id, name in asked[start : start + _MANY]:
            by_id = by_id or bool(topic_id.int)
            is_nameless = is_nameless or name is None
    return by_id, is_nameless


def _describe_all(services: Services, context: RequestContext) -> Steps[list[Any]]:
    epoch = services.cluster.epoch
    found: list[Any] = []
    partitions = 0
    for topic in list(services.topics.all()):
        yield
        found.append((yield from _describe(services, context, topic)))
        partitions += len(topic.states)
    is_short = 0 < len(found) <= _MOST_ASKED and partitions <= _MOST_ASKED
    if is_short and services.cluster.epoch == epoch:
        services.cluster.cache[_key_of_all(context)] = list(found)
    return found


def _describe_by_id(
    services: Services, context: RequestContext, asked: Sequence[MetadataRequestTopicRow]
) -> Steps[list[Any]]:
    """Each topic once. Where one is asked for by id, no name counts."""
    found: list[Any] = []
    seen: set[UUID] = set()
    for topic_id, _ in asked:
        yield
        if not topic_id.int or topic_id in seen:
            continue
        seen.add(topic_id)
        topic = services.topics.by_id(topic_id)
        if topic is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID
            found.append((code, None, topic_id, False, (), NOT_ASKED))
        else:
            found.append((yield from _describe(services, context, topic)))
    yield from release_set(seen)
    return found


def _describe_by_name(
    services: Services,
    context: RequestContext,
    asked: Sequence[MetadataRequestTopicRow],
    *,
    creates: bool,
) -> WaitingSteps[list[Any]]:
    """Each topic once."""
    found: list[Any] = []
    seen: set[str] = set()
    for _, name in asked:
        yield None
        if name is None or name in seen:
            continue
        seen.add(name)
        topic = services.topics.get(name)
        if topic is not None:
            found.append((yield from _describe(services, context, topic)))
        else:
            found.append((yield from _missing(services, context, name, create=creates)))
    yield from release_set(seen)
    return found


def _missing(
    services: Services, context: RequestContext, name: str, *, create: bool
) -> WaitingSteps[MetadataResponseTopicRow]:
    """A topic that does not exist, and what the response says of it while it is being created."""
    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    try:
        validate_topic_name(name)
    except KafkaError as error:
        code = error.code
    else:
        if create and services.config.boolean("auto.create.topics.enable"):
            # The client is not told why a topic was not created: there is none.
            with suppress(KafkaError):
                if name in INTERNAL_TOPICS:
                    yield from services.topics.creating_internal(name)
                else:
                    yield from services.topics.creating(NewTopic(name, charge=context.charge))
    return code, name, NO_UUID, name in INTERNAL_TOPICS, (), NOT_ASKED


def _brokers(services: Services, listener_name: str) -> list[MetadataResponseBrokerRow]:
    cache = services.cluster.cache
    key = ("metadata brokers", listener_name)
    brokers: list[MetadataResponseBrokerRow] | None = cache.get(key)
    if brokers is None:
        brokers = cache[key] = [
            (node.id, node.host, node.port, node.rack)
            for node in services.cluster.addresses(listener_name)
        ]
    return brokers


def _describe(services: Services, context: RequestContext, topic: Topic) -> Steps[Any]:
    cache = services.cluster.topic_cache.setdefault(topic.topic_id.int, {})
    key = "metadata", context.listener_name, context.api_version
    described: KeptRow | None = cache.get(key)
    if described is None:
        epoch = services.cluster.epoch
        partitions = yield from _partitions(services, context, topic)
        described = KeptRow(
            (0, topic.name, topic.topic_id, topic.is_internal, partitions, NOT_ASKED)
        )
        described.has_no_errors = not any(partition[0] for partition in partitions)
        if services.cluster.epoch == epoch:
            cache[key] = described
    return described


def _partitions(
    services: Services, context: RequestContext, topic: Topic
) -> Steps[list[MetadataResponsePartitionRow]]:
    cache = services.cluster.topic_cache.setdefault(topic.topic_id.int, {})
    kind = _kind(context.api_version)
    key = "metadata of partitions", context.listener_name, kind
    found: list[MetadataResponsePartitionRow] | None = cache.get(key)
    if found is not None:
        return found
    epoch = services.cluster.epoch
    partitions: list[MetadataResponsePartitionRow] = []
    for index, state in enumerate(topic.states):
        if index % _AT_ONCE == _AT_ONCE - 1:
            yield
        partitions.append(_partition(services, context.listener_name, kind, index, state))
    if services.cluster.epoch == epoch:
        cache[key] = partitions
    return partitions


def _partition(
    services: Services, listener_name: str, kind: int, index: int, state: PartitionState
) -> MetadataResponsePartitionRow:
    cluster = services.cluster
    offline = cluster.offline_replicas(state, listener_name)
    replicas, in_sync = state.replicas, state.in_sync_replicas
    if kind == 0 and offline:
        unavailable = cluster.unavailable(replicas, listener_name)
        replicas = [node for node in replicas if node not in unavailable]
        in_sync = [node for node in in_sync if node not in unavailable]
    leader_id, code = state.leader_id, ErrorCode.NONE
    if not cluster.endpoints((leader_id,), listener_name):
        known = leader_id in cluster.nodes
        code = (
            ErrorCode.LISTENER_NOT_FOUND if known and kind >= 6 else ErrorCode.LEADER_NOT_AVAILABLE
        )
        leader_id = NO_LEADER
    elif len(replicas) < len(state.replicas):
        code = ErrorCode.REPLICA_NOT_AVAILABLE
    return code, index, leader_id, state.leader_epoch, replicas, in_sync, offline


def _failed(
    asked: Sequence[MetadataRequestTopicRow], version: int, code: ErrorCode
) -> MetadataResponseRow:
    """The request makes no sense: every topic is answered with the error."""
    topics: list[MetadataResponseTopicRow] = [
        (code, name or "", topic_id if version >= 10 else NO_UUID, False, (), NOT_ASKED)
        for topic_id, name in asked
    ]
    return 0, (), None, NO_LEADER, topics, NOT_ASKED, code
