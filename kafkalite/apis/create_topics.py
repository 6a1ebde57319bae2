"""CreateTopics (key 19), versions 2-7: new topics, each with its own outcome.

- v4+: -1 for the broker's default number of partitions and replicas (KIP-464); earlier versions
  need them given, but Kafka does not check, and neither do we.
- v5+: the answer tells partitions, replicas and configs of the new topic (KIP-525).
- v7: and its id.

A topic is there, on every node, when the answer is sent. `validate_only` checks everything and
changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.metadata_log import METADATA_TOPIC
from kafkalite.cluster.topic_creation import CreatedTopic, NewTopic
from kafkalite.config.describe import describe_topic, effective_source
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, in_slices, mapped
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

# In one request, as in Kafka (ReplicationControlManager).
_MAX_PARTITIONS: Final = 10_000


async def handle(
    services: Services, context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    counts = Counter(topic.name for topic in request.topics)
    wanted = [
        topic
        for topic in request.topics
        if counts[topic.name] == 1 and topic.name != METADATA_TOPIC
    ]
    new_topics = await in_slices(mapped(_new_topic, wanted), context)
    outcomes: Sequence[CreatedTopic | KafkaError]
    if _partition_count(services, new_topics) > _MAX_PARTITIONS:
        error = KafkaError(
            ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request."
        )
        outcomes = [error] * len(new_topics)
    else:
        outcomes = await in_slices(
            services.topics.creating_all(new_topics, validate_only=request.validate_only), context
        )
    results = await in_slices(_results(services, new_topics, outcomes), context)
    results.extend(_refused(name, count) for name, count in counts.items() if count > 1)
    if counts[METADATA_TOPIC] == 1:
        results.append(_refused(METADATA_TOPIC, 1))
    return CreateTopicsResponse(topics=results)


def _partition_count(services: Services, new_topics: list[NewTopic]) -> int:
    default = services.config.integer("num.partitions")
    return sum(
        len(new.assignments) or (default if new.partition_count == -1 else new.partition_count)
        for new in new_topics
    )


def _results(
    services: Services, new_topics: list[NewTopic], outcomes: Sequence[CreatedTopic | KafkaError]
) -> Steps[list[CreatableTopicResult]]:
    results: list[CreatableTopicResult] = []
    # Many topics have the same few configs.
    described: dict[tuple[tuple[str, str], ...], list[CreatableTopicConfigs]] = {}
    for new, outcome in zip(new_topics, outcomes, strict=True):
        yield
        if isinstance(outcome, KafkaError):
            results.append(_failed(new.name, outcome))
            continue
        key = tuple(new.configs.items())
        if key not in described:
            described[key] = _described(services, new)
        results.append(_created(new, outcome, described[key]))
    return results


def _new_topic(topic: CreatableTopic) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        [(assigned.partition_index, assigned.broker_ids) for assigned in topic.assignments],
        {config.name: config.value for config in topic.configs if config.value is not None},
        [config.name for config in topic.configs if config.value is None],
    )


def _described(services: Services, new: NewTopic) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=described.name,
            value=described.value,
            read_only=described.read_only,
            config_source=effective_source(services.config, described.name, new.configs),
            is_sensitive=described.sensitive,
        )
        for described in describe_topic(services.config, new.configs, services.config.node_id)
    ]


def _created(
    new: NewTopic, created: CreatedTopic, configs: list[CreatableTopicConfigs]
) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=new.name,
        topic_id=created.topic_id,
        error_code=ErrorCode.NONE,
        error_message=None,
        num_partitions=created.partition_count,
        replication_factor=created.replication_factor,
        configs=configs,
    )


def _failed(name: str, error: KafkaError) -> CreatableTopicResult:
    return CreatableTopicResult(name=name, error_code=error.code, error_message=error.message)


def _refused(name: str, count: int) -> CreatableTopicResult:
    message = (
        "Duplicate topic name."
        if count > 1
        else f"Creation of internal topic {METADATA_TOPIC} is prohibited."
    )
    return _failed(name, KafkaError(ErrorCode.INVALID_REQUEST, message))
