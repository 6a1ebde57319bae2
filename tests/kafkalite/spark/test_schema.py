"""The rows of the source are those of Spark's own, in Spark's and in Arrow's words."""

from __future__ import annotations

import pytest
from pyspark.sql.pandas.types import from_arrow_schema

from kafkalite.spark.schema import record_schema, spark_schema


@pytest.mark.parametrize("include_headers", [False, True])
def test_both_spellings_are_one_schema(include_headers: bool) -> None:
    fields = spark_schema(include_headers).replace(": ", ":").split(", ")
    declared = ",".join(field.replace(" ", ":", 1) for field in fields)
    made = record_schema(include_headers)
    assert from_arrow_schema(made).simpleString() == f"struct<{declared}>"
    assert ("headers" in made.names) == include_headers
    assert made.field("timestamp").type.tz == "UTC"
