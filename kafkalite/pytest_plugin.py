"""The fixtures that come with the package, through pytest's entry point.

    def test_orders(kafkalite):                            # a cluster of this test's own, at once
        app = App(kafkalite.bootstrap)
        kafkalite.fault("Produce", topic="orders", do=drop.after)

    kafkalite                  a cluster of the test's own in the run's process
    kafkalite_factory          several: `kafkalite_factory(nodes=3, config={...})`
    kafkalite_reset            the run's default cluster, at one address, reset after each test
    kafkalite_session          the broker that all these are in, one per run (and worker of xdist)
    kafkalite_broker           a broker in a thread of its own, by `kafkalite.testing.broker`
    kafkalite_broker_session   one such broker for the whole run

`@pytest.mark.kafkalite(nodes=3, config={...}, snapshot="orders", seed="orders.yaml",
clock="frozen")` says what the cluster of `kafkalite` is like. All have the profile "test"
(config/profiles.py). A fault that was never applied fails its test. The fixtures are plain
objects, good for sync tests and for those in trio and asyncio, which await the verbs of
`.asynchronous`. pytest imports this module in every run, hence the late imports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from kafkalite.client.kit import Kit
    from kafkalite.client.local import NewCluster
    from kafkalite.testing import broker

_MARK_FIELDS = ("nodes", "config", "snapshot", "seed", "clock")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line(
        "markers",
        "kafkalite(**arguments): how kafkalite_broker is made, as kafkalite.testing.broker, and "
        "the cluster of kafkalite: nodes, config, snapshot, seed, clock",
    )


@pytest.fixture
def kafkalite_broker(request: pytest.FixtureRequest) -> Iterator[broker]:
    """A broker of this test's own, in a thread, on a free port, in a temporary directory.

    `@pytest.mark.kafkalite(sasl="plain:alice:secret", tls="auto", acls=True)` secures it.
    """
    from kafkalite.testing import broker

    marked: dict[str, Any] = {"profile": "test", **_marked(request)}
    with broker(**marked) as running:
        yield running
        _check_faults(running)


@pytest.fixture(scope="session")
def kafkalite_broker_session() -> Iterator[broker]:
    """One broker for all tests of the run that ask for it."""
    from kafkalite.testing import broker

    with broker(profile="test") as running:
        yield running


@pytest.fixture(scope="session")
def kafkalite_session() -> Iterator[broker]:
    """The broker of this run, whose clusters the other fixtures are."""
    from kafkalite.testing import broker

    with broker(profile="test") as running:
        yield running


@pytest.fixture
def kafkalite(request: pytest.FixtureRequest, kafkalite_session: broker) -> Iterator[NewCluster]:
    """A cluster of this test's own, on a port of its own, as its marker says."""
    marked = _marked(request)
    unknown = sorted(set(marked) - set(_MARK_FIELDS))
    if unknown:
        known = ", ".join(_MARK_FIELDS)
        raise pytest.UsageError(f"kafkalite({', '.join(unknown)}=...): the marker has {known}")
    seed, clock = marked.pop("seed", None), marked.pop("clock", None)
    with kafkalite_session.new_cluster(**marked) as cluster:
        if seed is not None:
            cluster.seed(seed)
        if clock == "frozen":
            cluster.clock.freeze()
        yield cluster
        _check_faults(cluster)


def _marked(request: pytest.FixtureRequest) -> dict[str, Any]:
    marked: dict[str, Any] = {}
    untyped: Any = request
    node: pytest.Item = untyped.node
    for marker in reversed(list(node.iter_markers("kafkalite"))):
        marked |= marker.kwargs
    return marked


@pytest.fixture
def kafkalite_factory(kafkalite_session: broker) -> Iterator[Callable[..., NewCluster]]:
    """Makes clusters for one test: `kafkalite_factory(nodes=3, config={...})`."""
    with ExitStack() as stack:
        made: list[NewCluster] = []

        def make(
            nodes: int = 1,
            config: Mapping[str, object] | None = None,
            *,
            snapshot: str | None = None,
        ) -> NewCluster:
            cluster = kafkalite_session.new_cluster(nodes=nodes, config=config, snapshot=snapshot)
            made.append(stack.enter_context(cluster))
            return cluster

        yield make
        for cluster in made:
            _check_faults(cluster)


@pytest.fixture
def kafkalite_reset(kafkalite_session: broker) -> Iterator[broker]:
    """The run's default cluster, which keeps its address; reset after the test."""
    yield kafkalite_session
    try:
        _check_faults(kafkalite_session)
    finally:
        kafkalite_session.reset()


def _check_faults(kit: Kit) -> None:
    """A fault that was never applied has shown nothing: the test that put it in fails."""
    unfired = kit.faults.unfired()
    if unfired:
        pytest.fail("; ".join(unfired), pytrace=False)
