"""Apache Kafka and the broker under test, side by side and with the same properties.

With `--broker kafka` both are Apache Kafka: that must give no difference, which proves the referee.
"""

from collections.abc import Iterator

import pytest

from conformance.conftest import starter
from conformance.differential.pair import Pair
from conformance.differential.side import Side
from conformance.harness.apache_kafka import ApacheKafka
from conformance.harness.broker import Broker


@pytest.fixture(scope="session")
def _brokers(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, _living: list[Broker]
) -> Iterator[tuple[Broker, Broker]]:
    directory = tmp_path_factory.mktemp("referee")
    reference = ApacheKafka(directory / "reference")
    tested = starter(pytestconfig.getoption("--broker"), directory / "tested", _living)()
    yield reference, tested
    _living.remove(tested)
    tested.stop()
    reference.stop()


@pytest.fixture(scope="session")
def _sides(_brokers: tuple[Broker, Broker]) -> Iterator[Pair]:
    pair = Pair(*map(Side, _brokers))
    yield pair
    pair.reference.close()
    pair.tested.close()


@pytest.fixture
def pair(_sides: Pair) -> Iterator[Pair]:
    """Both brokers, with fresh connections."""
    yield _sides
    for side in (_sides.reference, _sides.tested):
        side.close()
        side.generated.clear()
        side.session_ids.clear()
        side.member_ids.clear()
