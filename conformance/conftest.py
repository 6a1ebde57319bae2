"""Brokers for the tests: one for the session that they share, and new ones to kill."""

import gc
import itertools
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from conformance.harness.jars import JarsMissing
from conformance.harness.java import JavaMissing
from conformance.harness.kafkalite import Kafkalite
from conformance.harness.under_controllers import UnderControllers
from conformance.harness.watched_loops import IN_TESTS, VARIABLE, held
from conformance.outcomes import Outcomes

KINDS: dict[str, Callable[..., Broker]] = {
    "kafkalite": Kafkalite,
    "kafka": ApacheKafka,
    "processes": partial(UnderControllers, "kafkalite"),
}
# Brokers under controllers are held against such of Apache Kafka; else that has its own quorum.
REFERENCES: dict[str, Callable[..., Broker]] = {"processes": partial(UnderControllers, "kafka")}
LIVING = pytest.StashKey[list[Broker]]()

NewBroker = Callable[..., Broker]

TOGETHER = {"clients", "cluster", "differential", "java_codec", "spark"}
# These take long and share nothing with their folder that another worker could not start as well.
APART = {
    *("test_faults", "test_generated", "test_generated_queues", "test_generated_streams"),
    "test_three_brokers",
}
# The longest begin first, so that no worker is alone in the end.
LONGEST = (
    *("differential", "test_generated", "spark", "test_queue_proof", "test_cluster"),
    "test_opening",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--broker",
        choices=sorted(KINDS),
        default="kafkalite",
        help="what the clients talk to: kafkalite, Apache Kafka (which proves the tests), or "
        "kafkalite's brokers under Apache Kafka's controllers",
    )
    parser.addoption("--summary", help="differential: write what was compared to this file (JSON)")
    parser.addoption(
        "--seconds", type=float, help="differential: tell stories for so long, others every time"
    )
    parser.addoption(
        "--requests",
        type=int,
        help="differential: tell stories of share and streams groups until so many were asked",
    )
    parser.addoption("--outcomes", type=Path, help="write what became of every test, as JSON")
    parser.addoption(
        "--as-version",
        metavar="RELEASE",
        help="have kafkalite look like this release: for clients/",
    )
    parser.addoption(
        "--matrix", action="store_true", help="every version of every client, not the oldest alone"
    )
    parser.addoption(
        "--every-version", action="store_true", help="security: each set of ACLs, in every version"
    )


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault(VARIABLE, IN_TESTS)
    if (file := config.getoption("--outcomes")) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(config, file))


def group_of(item: pytest.Item) -> str:
    """Tests of one group run in one process, one after the other."""
    folder = item.path.parent.name
    return folder if folder in TOGETHER and item.path.stem not in APART else item.path.stem


def uses_kafka_python(item: pytest.Item) -> bool:
    """True if the test's module has kafka-python's clients, which leave sockets unclosed.

    A connection that such a client gives up is closed by the garbage collector.
    """
    if not isinstance(item, pytest.Function):
        return False
    homes = {str(getattr(each, "__module__", "")) for each in vars(item.module).values()}
    return any(
        each.startswith("kafka.") or each.endswith("kafka_python_consumer") for each in homes
    )


@pytest.fixture(autouse=True)
def _loops_are_not_held() -> Iterator[None]:
    yield
    longest = list(held())
    assert not longest, longest


@pytest.fixture(autouse=True)
def _sockets_of_kafka_python(request: pytest.FixtureRequest) -> Iterator[None]:
    """Its sockets are collected while the warning is ignored, not during a test of another."""
    yield
    if isinstance(request.node, pytest.Item) and uses_kafka_python(request.node):
        gc.collect()


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Several processes (`-n`): what shares a JVM stays together, and the longest begin."""
    for item in items:
        item.add_marker(pytest.mark.xdist_group(group_of(item)))
        if uses_kafka_python(item):
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <:ResourceWarning"))
    order = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: order.get(group_of(item), len(LONGEST)))


def pytest_collection_finish() -> None:
    """Modules and tests stay: no collection need go through them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """A failure shows the ends of the living brokers' logs; what needs a JVM is left out without
    one."""
    report = yield
    if call.excinfo is not None and call.excinfo.errisinstance((JavaMissing, JarsMissing)):
        report.outcome = "skipped"
        reason = f"left out: {call.excinfo.value}"
        report.longrepr = (str(item.path), (item.location[1] or 0) + 1, reason)
    elif report.failed:
        for broker in item.config.stash.get(LIVING, []):
            report.sections.append((f"{broker.kind} at {broker.bootstrap}", broker.tail()))
    return report


@pytest.fixture(scope="session")
def _living(pytestconfig: pytest.Config) -> list[Broker]:
    return pytestconfig.stash.setdefault(LIVING, [])


def starter(kind: str, base: Path, living: list[Broker]) -> NewBroker:
    numbers = itertools.count(1)

    def start(properties: Mapping[str, str] | None = None, node_count: int = 1) -> Broker:
        broker = KINDS[kind](base / f"broker-{next(numbers)}", properties, node_count)
        living.append(broker)
        return broker

    return start


@pytest.fixture(scope="session")
def broker(
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
    _living: list[Broker],
) -> Iterator[Broker]:
    """The broker all tests share: use names of your own (`topic`, `unique`), do not kill it."""
    kind = pytestconfig.getoption("--broker")
    release = pytestconfig.getoption("--as-version")
    properties = None if release is None else {"kafkalite.as.version": release}
    started = starter(kind, tmp_path_factory.mktemp("shared"), _living)(properties)
    yield started
    _living.remove(started)
    started.stop()


@pytest.fixture
def new_broker(
    pytestconfig: pytest.Config, tmp_path: Path, _living: list[Broker]
) -> Iterator[NewBroker]:
    """Starts brokers of the test's own: `new_broker({"name": "value"}, node_count=1)`."""
    mine: list[Broker] = []
    start = starter(pytestconfig.getoption("--broker"), tmp_path, mine)

    def start_and_show(*arguments: Any, **options: Any) -> Broker:
        started = start(*arguments, **options)
        _living.append(started)
        return started

    yield start_and_show
    for started in mine:
        _living.remove(started)
        started.stop()


@pytest.fixture
def unique() -> Callable[[str], str]:
    """A name nobody else uses: `unique("group")`."""
    return lambda prefix: f"{prefix}-{uuid.uuid4().hex[:10]}"


@pytest.fixture
def topic(unique: Callable[[str], str]) -> str:
    """The name of a topic of the test's own; not created."""
    return unique("topic")
