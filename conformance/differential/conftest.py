"""Apache Kafka and the broker under test, side by side and with the same properties.

With `--broker kafka` both are Apache Kafka: that must give no difference, which proves the referee.
`--summary FILE` writes what was compared, as JSON: summary.py.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from conformance.conftest import starter
from conformance.differential.pair import Pair
from conformance.differential.side import Side
from conformance.differential.stories.driver import prepare
from conformance.differential.summary import write_summary
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker

PAIRS = pytest.StashKey[list[Pair]]()
STARTED_AT = pytest.StashKey[float]()

# The controller of Apache Kafka gathers writes for 25 ms, which would be most of what a run takes; and
# nothing old is thrown away by the clock while answers are compared.
PROPERTIES = {
    "controller.quorum.append.linger.ms": "0",
    # a loaded machine must not make a node lose its leaderships, and their epochs grow
    "broker.session.timeout.ms": "60000",
    "log.retention.check.interval.ms": "86400000",
    "log.segment.delete.delay.ms": "1000",
}

Sources = Callable[[str], Pair]


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PAIRS] = []
    config.stash[STARTED_AT] = time.monotonic()


def pytest_sessionfinish(session: pytest.Session) -> None:
    file = session.config.getoption("--summary")
    if file:
        seconds = time.monotonic() - session.config.stash[STARTED_AT]
        kind = session.config.getoption("--broker")
        write_summary(Path(file), session.config.stash[PAIRS], kind, seconds)


@contextmanager
def both(
    config: pytest.Config, directory: Path, living: list[Broker], node_count: int = 1
) -> Iterator[Pair]:
    """The reference and the broker under test, of so many nodes, and what they are asked counted."""
    replicas = str(min(3, node_count))
    properties = PROPERTIES
    if node_count > 1:
        properties = PROPERTIES | {
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
        }
    reference = ApacheKafka(directory / "reference", properties, node_count)
    living.append(reference)
    tested = starter(config.getoption("--broker"), directory / "tested", living)(
        properties, node_count
    )
    pair = Pair(Side(reference), Side(tested))
    config.stash[PAIRS].append(pair)
    try:
        prepare(pair)
        yield pair
    finally:
        for side, broker in ((pair.reference, reference), (pair.tested, tested)):
            side.close()
            living.remove(broker)
            broker.stop()


@pytest.fixture(scope="session")
def _pair(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[Pair]:
    with both(pytestconfig, tmp_path_factory.mktemp("referee"), _living) as pair:
        yield pair


@pytest.fixture
def pair(_pair: Pair) -> Iterator[Pair]:
    """Both brokers, with fresh connections; what they are asked counts as scripts."""
    _pair.count_for("scripts")
    begun = time.monotonic()
    yield _pair
    _pair.tally.seconds += time.monotonic() - begun
    for side in _pair.sides:
        side.forget()
