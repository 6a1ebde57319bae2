"""One Spark for the whole run: starting it costs more than most tests.

Without PySpark (the extra `spark-test`) there is nothing to collect here.
"""

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conformance.harness.broker import Broker
from conformance.harness.jars import resolve
from conformance.harness.java import find_java
from conformance.spark.client import Client

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if importlib.util.find_spec("pyspark") is None:
    collect_ignore_glob = ["test_*.py"]

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Py4J leaves its sockets to Java to the garbage collector; that is no fault of a test."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


def connector_jars() -> list[str]:
    """The connector and what it needs beyond the jars that PySpark has itself."""
    import pyspark

    directory = resolve(
        f"spark-kafka-{pyspark.__version__}", [f"{CONNECTOR}:{pyspark.__version__}"]
    )
    there = {jar.name for jar in (Path(pyspark.__file__).parent / "jars").iterdir()}
    return [str(jar) for jar in sorted(directory.glob("*.jar")) if jar.name not in there]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[SparkSession]":
    """Two task slots, two shuffle partitions, the quick compiler: small and soon there."""
    from pyspark.sql import SparkSession

    os.environ["JAVA_HOME"] = str(find_java().resolve().parent.parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    directory = tmp_path_factory.mktemp("spark")
    session = (
        SparkSession.builder.master("local[2]")
        .appName("conformance")
        .config("spark.jars", ",".join(connector_jars()))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .config("spark.local.dir", str(directory / "local"))
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.sql.streaming.stopTimeout", "60s")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def client(broker: Broker) -> Client:
    """An ordinary client of the shared broker."""
    return Client(broker.bootstrap)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A directory for a query's checkpoint."""
    return str(tmp_path / "checkpoint")
