"""Spark on kafkalite: a data source without the JVM connector, pipelines over logs, a helper for
tests.

Installed by `pip install kafkalite[spark]`; nothing of it is imported by the broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Make `format("kafkalite")` known to the session."""
    from kafkalite.spark.source import register as register_source

    register_source(spark)


__all__ = ["register"]
