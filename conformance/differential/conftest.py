"""Apache Kafka and the broker under test, side by side and with the same properties.

With `--broker kafka` both are Apache Kafka: that must give no difference, which proves the referee.
`--summary FILE` writes what was compared, as JSON: summary.py.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

import pytest

from conformance.conftest import REFERENCES, starter
from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair, error_codes
from conformance.differential.summary import PAIRS, write_summary
from conformance.differential.wait_ready import ONE_NODE, PROPERTIES, THREE_NODES, make_ready
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest

COORDINATOR_NOT_AVAILABLE = 15
HERE = Path(__file__).parent
COVERED = HERE / "test_covered.py"
STARTED_AT = pytest.StashKey[float]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[PAIRS] = []
    config.stash[STARTED_AT] = time.monotonic()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests that look at all the others come after them, and are left out when some of those
    are."""
    last = [item for item in items if item.path == COVERED]
    others = [item for item in items if item.path != COVERED]
    is_chosen = config.option.keyword or any("::" in argument for argument in config.args)
    is_whole = {item.path for item in others} >= set(HERE.glob("test_*.py")) - {COVERED}
    if is_chosen or not is_whole:
        config.hook.pytest_deselected(items=last)
        last = []
    items[:] = others + last


def pytest_sessionfinish(session: pytest.Session) -> None:
    file = session.config.getoption("--summary")
    if file:
        seconds = time.monotonic() - session.config.stash[STARTED_AT]
        kind = session.config.getoption("--broker")
        write_summary(Path(file), session.config.stash[PAIRS], kind, seconds)


@contextmanager
def both(
    config: pytest.Config,
    directory: Path,
    living: list[Broker],
    node_count: int = 1,
    own: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[Pair]:
    """The reference and the broker under test, of so many nodes and with properties of their
    own, and what they are asked counted."""
    properties = {**PROPERTIES, **(THREE_NODES if node_count > 1 else ONE_NODE), **own}
    kind = config.getoption("--broker")
    reference = REFERENCES.get(kind, ApacheKafka)(directory / "reference", properties, node_count)
    living.append(reference)
    tested = starter(kind, directory / "tested", living)(properties, node_count)
    pair = Pair(Side(reference), Side(tested))
    config.stash[PAIRS].append(pair)
    try:
        for side in pair.sides:
            make_ready(side)
        yield pair
    finally:
        for side, broker in ((pair.reference, reference), (pair.tested, tested)):
            side.close()
            living.remove(broker)
            broker.kill()  # nothing is kept, and three nodes take long to say goodbye


@pytest.fixture(scope="package")
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


@pytest.fixture
def group(pair: Pair, unique: Callable[[str], str]) -> str:
    """The name of a new group; its coordinator is up on both sides."""
    name = unique("group")
    find = FindCoordinatorRequest(key=name)
    pair.ask(ApiKey.FIND_COORDINATOR, 3, find, retry=COORDINATOR_NOT_AVAILABLE)
    request = DescribeGroupsRequest(groups=[name])
    for side in (pair.reference, pair.tested):
        deadline = time.monotonic() + 10
        while error_codes(answer := side.ask(ApiKey.DESCRIBE_GROUPS, 5, request)) != {0}:
            assert time.monotonic() < deadline, answer
    return name
