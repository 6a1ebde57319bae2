"""One Spark for the whole run, with the JVM connector beside format("kafkalite").

Where PySpark is older than 4.2 (the environment of the other tests) there is nothing to collect.
"""

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

from conformance.spark.conftest import broker, checkpoint, client, spark

__all__ = ["broker", "checkpoint", "client", "spark"]

try:
    NEW_ENOUGH = tuple(map(int, version("pyspark").split(".")[:2])) >= (4, 2)
except PackageNotFoundError:
    NEW_ENOUGH = False
if not NEW_ENOUGH:
    collect_ignore_glob = ["test_*.py"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Py4J leaves its sockets to Java to the garbage collector; Spark's own warnings are not
    ours."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for ignored in (
                "unclosed <socket:ResourceWarning",
                ":DeprecationWarning:pyspark",
                "PySpark does not yet fully support pandas:FutureWarning",
            ):
                item.add_marker(pytest.mark.filterwarnings(f"ignore:{ignored}"))
