"""Both brokers, with three nodes each."""

import time
from collections.abc import Iterator

import pytest

from conformance.differential.cluster.topics import create
from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.harness.broker import Broker


@pytest.fixture(scope="package")
def _cluster(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Pair]:
    with both(pytestconfig, tmp_path_factory.mktemp("cluster"), _living, node_count=3) as pair:
        yield pair


@pytest.fixture
def cluster(_cluster: Pair) -> Iterator[Pair]:
    """Both brokers, with fresh connections; what they are asked counts for itself."""
    _cluster.count_for("three nodes")
    begun = time.monotonic()
    yield _cluster
    _cluster.tally.seconds += time.monotonic() - begun
    for side in _cluster.sides:
        side.forget()


@pytest.fixture(scope="package")
def _spread(_cluster: Pair) -> str:
    return create(_cluster, "topic-spread")


@pytest.fixture
def spread(cluster: Pair, _spread: str) -> str:
    """A topic that all share: do not move its partitions."""
    for side in cluster.sides:
        side.topic_id(_spread)
    return _spread
