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
from functools import partial
from typing import TYPE_CHECKING

from kafkalite.cluster.topic_creation import CreatedTopic, NewTopic
from kafkalite.config.describe import describe_topic, effective_source
from kafkalite.requests.context import RequestContext, check_time
from kafkalite.requests.slices import Steps, counted, cut, in_slices, mapped_in_steps, release
from kafkalite.requests.topic_names import METADATA_TOPIC, prohibited
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


async def handle(
    services: Services, context: RequestContext, request: CreateTopicsRequest
) -> CreateTopicsResponse:
    counts = await in_slices(counted(topic.name for topic in request.topics), context)
    wanted = await in_slices(_wanted(request.topics, counts), context)
    if wanted:
        check_time(request.timeout_ms)
    new_topics = await in_slices(mapped_in_steps(partial(_new_topic, context), wanted), context)
    outcomes = await in_slices(
        services.topics.creating_all(new_topics, validate_only=request.validate_only), context
    )
    results = await in_slices(_results(services, new_topics, outcomes), context)
    await in_slices(release([new_topics]), context)
    results += await in_slices(_repeated(counts), context)
    if counts[METADATA_TOPIC] == 1:
        results.append(_failed(METADATA_TOPIC, prohibited()))
    return CreateTopicsResponse(topics=results)


def _repeated(counts: Counter[str]) -> Steps[list[CreatableTopicResult]]:
    """The responses of topics that are named more than once."""
    refused: list[CreatableTopicResult] = []
    for name, count in counts.items():
        if count > 1:
            error = KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            refused.append(_failed(name, error))
        yield
    return refused


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


def _wanted(topics: list[CreatableTopic], counts: Counter[str]) -> Steps[list[CreatableTopic]]:
    """The topics that are named once, and may be created."""
    wanted: list[CreatableTopic] = []
    for some in cut(topics):
        wanted += (each for each in some if counts[each.name] == 1 and each.name != METADATA_TOPIC)
        yield
    return wanted


def _new_topic(context: RequestContext, topic: CreatableTopic) -> Steps[NewTopic]:
    assignments: list[tuple[int, list[int]]] = []
    for few in cut(topic.assignments):
        assignments += ((assigned.partition_index, assigned.broker_ids) for assigned in few)
        yield
    configs: dict[str, str] = {}
    null_configs: list[str] = []
    for some in cut(topic.configs):
        configs.update((config.name, config.value) for config in some if config.value is not None)
        null_configs += (config.name for config in some if config.value is None)
        yield
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        assignments,
        configs,
        null_configs,
        charge=context.charge,
    )


def _described(services: Services, new: NewTopic) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=described.name,
            # In the words of the request, which DescribeConfigs has in Java's.
            value=new.configs.get(described.name, described.value),
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
