"""One Spark for the whole run: starting it costs more than most tests.

Without PySpark (the extra `spark-test`) there is nothing to collect here.
"""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.conftest import starter
from conformance.harness.broker import Broker
from conformance.spark.client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Py4J leaves its sockets to Java to the garbage collector; that is no fault of a test."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    from conformance.spark.session import start_spark

    session = start_spark(tmp_path_factory.mktemp("spark"))
    yield session
    session.stop()


@pytest.fixture(scope="package")
def broker(
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
    _living: list[Broker],
) -> Iterator[Broker]:
    """One for Spark alone: its queries ask for all topics all the time, and others leave
    thousands."""
    kind = pytestconfig.getoption("--broker")
    started = starter(kind, tmp_path_factory.mktemp("for-spark"), _living)()
    yield started
    _living.remove(started)
    started.stop()


@pytest.fixture
def client(broker: Broker) -> Client:
    """An ordinary client of that broker."""
    return Client(broker.bootstrap)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A directory for a query's checkpoint."""
    return str(tmp_path / "checkpoint")
