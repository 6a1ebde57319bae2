"""DescribeConfigs (key 32), versions 1-4: values, where each is set, and its synonyms (KIP-133).

- v1+: synonyms; v3+: types and documentation (KIP-569).
- `configuration_keys` null or empty means all; unknown ones are silently missing.
- A node is asked about itself; the name "" is what holds for all nodes (KIP-226).
- Passwords are never told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.broker_loggers import levels
from kafkalite.cluster.config_changes import check_node_id
from kafkalite.config.describe import (
    ConfigSource,
    DescribedConfig,
    describe_all_nodes,
    describe_client_metrics,
    describe_group,
    describe_node,
    describe_topic,
)
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, batches, briefly_or_in_slices, mapped
from kafkalite.requests.topic_names import validate_topic_name
from kafkalite.wire.api_keys import (
    BROKER_LOGGER_RESOURCE,
    BROKER_RESOURCE,
    CLIENT_METRICS_RESOURCE,
    CONFIG_RESOURCES,
    TOPIC_RESOURCE,
)
from kafkalite.wire.errors import MALFORMED, ErrorCode, KafkaError, invalid_request
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

# Topics with different configs of their own.
_MOST_KEPT: Final = 64


async def handle(
    services: Services, context: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    describe = partial(_describe, services, context, request)
    results = await briefly_or_in_slices(_results(request.resources, describe), context)
    return DescribeConfigsResponse(results=results)


def _results(
    resources: Sequence[DescribeConfigsResource],
    describe: Callable[[DescribeConfigsResource], DescribeConfigsResult],
) -> Steps[list[DescribeConfigsResult]]:
    """A type that is none fails the whole request (ConfigHelper.handleDescribeConfigsRequest)."""
    for some in batches(resources):
        if any(resource.resource_type not in CONFIG_RESOURCES for resource in some):
            return (yield from mapped(_refused, resources))
        yield
    return (yield from mapped(describe, resources))


def _refused(resource: DescribeConfigsResource) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=MALFORMED,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _describe(
    services: Services,
    context: RequestContext,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
) -> DescribeConfigsResult:
    # An error without words has an empty message in Kafka, not null.
    result = DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
    try:
        described = _kept(services, context, request, resource)
    except KafkaError as error:
        result.error_code = error.code
        result.error_message = error.message or ""
        return result
    wanted = set(resource.configuration_keys or ())
    result.configs = [each for each in described if not wanted or each.name in wanted]
    return result


def _kept(
    services: Services,
    context: RequestContext,
    request: DescribeConfigsRequest,
    resource: DescribeConfigsResource,
) -> list[DescribeConfigsResourceResult]:
    """The configs as they are told, kept until the metadata change.

    Topics that have the same configs of their own share them. Raises KafkaError.
    """
    kind = resource.resource_type
    key: object = resource.resource_name
    if kind == TOPIC_RESOURCE:
        overrides = services.cluster.image.topic_configs(resource.resource_name)
        key = frozenset(overrides.items())
        _check_topic(services, resource.resource_name)
    elif kind != BROKER_RESOURCE:
        return [_encode(each, request) for each in _configs_of(services, context, resource)]
    flags = request.include_synonyms, request.include_documentation
    kept: dict[object, list[DescribeConfigsResourceResult]]
    kept = services.cluster.cache.setdefault(("configs", context.node_id, kind, *flags), {})
    found = kept.get(key)
    if found is None:
        found = [_encode(each, request) for each in _configs_of(services, context, resource)]
        if len(kept) < _MOST_KEPT:
            kept[key] = found
    return found


def _configs_of(
    services: Services, context: RequestContext, resource: DescribeConfigsResource
) -> Iterable[DescribedConfig]:
    kind, name, node_id = resource.resource_type, resource.resource_name, context.node_id
    image = services.cluster.image
    if kind == TOPIC_RESOURCE:
        return describe_topic(services.config, image.topic_configs(name), node_id)
    if kind == BROKER_RESOURCE:
        if not name:
            return describe_all_nodes(services.config)
        check_node_id(name, node_id, "Broker", f"broker id, expected {node_id} or empty string,")
        return describe_node(services.config, node_id)
    if kind == BROKER_LOGGER_RESOURCE:
        if not name:
            raise invalid_request("Broker id must not be empty")
        check_node_id(name, node_id, "Broker", f"broker id, expected {node_id}")
        return _loggers()
    if kind == CLIENT_METRICS_RESOURCE:
        if not name:
            raise invalid_request("Client metrics subscription name must not be empty")
        return describe_client_metrics(image.configs.get((kind, name), {}))
    if not name:
        raise invalid_request("Group name must not be empty")
    return describe_group(services.config, image.configs.get((kind, name), {}), node_id)


def _check_topic(services: Services, name: str) -> None:
    """Raises KafkaError if there is no such topic."""
    validate_topic_name(name)
    if name not in services.cluster.image.topics:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def _loggers() -> Iterable[DescribedConfig]:
    source = ConfigSource.DYNAMIC_BROKER_LOGGER
    for name, level in levels().items():
        yield DescribedConfig(name, level, False, source, False, (), 0, None)


def _encode(
    config: DescribedConfig, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    synonyms = config.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=config.name,
        value=config.value,
        read_only=config.read_only,
        config_source=config.source,
        is_sensitive=config.sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=synonym.name, value=synonym.value, source=synonym.source)
            for synonym in synonyms
        ],
        config_type=config.type,
        documentation=config.documentation if request.include_documentation else None,
    )
