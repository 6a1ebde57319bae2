"""A small Spark with its own Kafka connector, from the jars in the cache."""

import os
import sys
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from conformance.harness.jars import resolve
from conformance.harness.java import find_java

CONNECTOR = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
# For PySpark 4.2 and newer: Maven Central has the connector as 4.2.0, but its token provider, which
# only secured clusters use, as 4.0.0.
CONNECTOR_4_2 = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)


def connector_jars() -> list[str]:
    """The connector and what it needs beyond the jars that PySpark has itself."""
    if tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 2):
        directory = resolve("spark-kafka-4.2.0", CONNECTOR_4_2, transitive=False)
    else:
        directory = resolve(f"spark-kafka-{pyspark.__version__}", [CONNECTOR])
    there = {jar.name for jar in (Path(pyspark.__file__).parent / "jars").iterdir()}
    return [str(jar) for jar in sorted(directory.glob("*.jar")) if jar.name not in there]


def spark_builder(directory: Path, jars: list[str], *, quick: bool = True) -> SparkSession.Builder:
    """Two task slots, two shuffle partitions; `quick` for tests: what compiles soonest.

    What Spark writes lies in `directory`. Raises JavaMissing.
    """
    os.environ["JAVA_HOME"] = str(find_java().resolve().parent.parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    flags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" if quick else "-XX:+UseParallelGC"
    return (
        SparkSession.builder.master("local[2]")
        .appName("conformance")
        .config("spark.jars", ",".join(jars))
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.extraJavaOptions", flags)
        .config("spark.local.dir", str(directory / "local"))
        .config("spark.sql.warehouse.dir", str(directory / "warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", 2)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
    )


def start_spark(directory: Path) -> SparkSession:
    """A small Spark that is soon there. Raises JavaMissing, JarsMissing."""
    return spark_builder(directory, connector_jars()).getOrCreate()
