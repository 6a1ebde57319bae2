"""One Spark for the whole run: starting it costs more than most tests."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from conformance.harness.broker import Broker
from conformance.harness.jars import resolve
from conformance.harness.java import find_java
from conformance.spark.client import Client

CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Py4J leaves its sockets to Java to the garbage collector; that is no fault of a test."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


def connector_jars() -> list[str]:
    """The connector and what it needs beyond the jars that PySpark has itself."""
    directory = resolve(f"spark-kafka-{pyspark.__version__}", [CONNECTOR])
    there = {jar.name for jar in (Path(pyspark.__file__).parent / "jars").iterdir()}
    return [str(jar) for jar in sorted(directory.glob("*.jar")) if jar.name not in there]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two task slots, two shuffle partitions, the quick compiler: small and soon there."""
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
