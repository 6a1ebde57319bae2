"""DescribeConfigs, DescribeCluster."""

from typing import Any

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.normalize import differences, in_one_order
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_cluster import DescribeClusterRequest
from kafkalite.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)

VERSIONS = range(1, 5)
TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


def about(resource_type: int, name: str, *keys: str, **options: Any) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=list(keys) or None
    )
    return DescribeConfigsRequest(resources=[resource], **options)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("include_synonyms", [False, True])
def test_a_topic(pair: Pair, topic: str, version: int, include_synonyms: bool) -> None:
    pair.create_topic(topic, retention_ms="1234", cleanup_policy="compact,delete")
    options = {"include_synonyms": include_synonyms}
    pair.ask(ApiKey.DESCRIBE_CONFIGS, version, about(TOPIC, topic, **options))
    keys = ("retention.ms", "segment.bytes", "no.such.config", "message.format.version")
    pair.ask(ApiKey.DESCRIBE_CONFIGS, version, about(TOPIC, topic, *keys, **options))


@pytest.mark.parametrize("version", VERSIONS)
def test_no_keys_are_no_configs(pair: Pair, topic: str, version: int) -> None:
    pair.create_topic(topic)
    resource = DescribeConfigsResource(
        resource_type=TOPIC, resource_name=topic, configuration_keys=[]
    )
    pair.ask(ApiKey.DESCRIBE_CONFIGS, version, DescribeConfigsRequest(resources=[resource]))


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_not_there(pair: Pair, topic: str, version: int) -> None:
    for resource_type, name in (
        (TOPIC, topic),
        (TOPIC, "a b"),
        (TOPIC, ""),
        (BROKER, "7"),
        (BROKER, "x"),
        (BROKER_LOGGER, "7"),
        (3, "x"),
    ):
        pair.ask(ApiKey.DESCRIBE_CONFIGS, version, about(resource_type, name))
    pair.ask(ApiKey.DESCRIBE_CONFIGS, version, DescribeConfigsRequest(resources=[]))


@pytest.mark.parametrize("version", VERSIONS)
def test_the_cluster_wide_default_of_brokers(pair: Pair, version: int) -> None:
    pair.ask(ApiKey.DESCRIBE_CONFIGS, version, about(BROKER, ""))


def test_a_broker(pair: Pair) -> None:
    """Every config of Kafka 4.3 is there, with its type, default and synonyms."""
    sides = (pair.reference, pair.tested)
    request = about(BROKER, "1", include_synonyms=True)
    reference, tested = (
        configs_of(side.ask(ApiKey.DESCRIBE_CONFIGS, 4, request), side) for side in sides
    )
    what = "DESCRIBE_CONFIGS v4.configs"
    alone = [
        *(f"{what}.{name}: not here" for name in sorted(reference.keys() - tested.keys())),
        *(f"{what}.{name}: only here" for name in sorted(tested.keys() - reference.keys())),
    ]
    both = [name for name in reference if name in tested]
    pair.judge(
        [
            *alone,
            *(
                line
                for name in both
                for line in differences(reference[name], tested[name], f"{what}.{name}")
            ),
        ]
    )


def configs_of(answer: Any, side: Any) -> dict[str, Any]:
    (result,) = answer.results
    return {
        config.name: in_one_order(side.names.plain(config, "config")) for config in result.configs
    }


@pytest.mark.parametrize("version", range(3))
@pytest.mark.parametrize("endpoint_type", [0, 1, 2, 3])
def test_the_cluster(pair: Pair, version: int, endpoint_type: int) -> None:
    for operations in (False, True):
        request = DescribeClusterRequest(
            include_cluster_authorized_operations=operations,
            endpoint_type=endpoint_type if version else 1,
            include_fenced_brokers=operations,
        )
        pair.ask(ApiKey.DESCRIBE_CLUSTER, version, request)
