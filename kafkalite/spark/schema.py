"""The rows of Spark's own Kafka source, as Spark and as Arrow spell them.

Spark takes a data source's Arrow batches only if they are exactly the Arrow form of the declared
schema. Source: Spark's KafkaRecordToRowConverter.
"""

from __future__ import annotations

import pyarrow as pa

HEADERS_TYPE = pa.list_(
    pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))
)

RECORD_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
    ]
)
RECORD_SCHEMA_WITH_HEADERS = RECORD_SCHEMA.append(pa.field("headers", HEADERS_TYPE))

SPARK_SCHEMA = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "timestamp timestamp, timestampType int"
)
SPARK_SCHEMA_WITH_HEADERS = f"{SPARK_SCHEMA}, headers array<struct<key: string, value: binary>>"


def record_schema(include_headers: bool) -> pa.Schema:
    """The Arrow schema of the rows; the headers are null where a record has none."""
    return RECORD_SCHEMA_WITH_HEADERS if include_headers else RECORD_SCHEMA


def spark_schema(include_headers: bool) -> str:
    """The same as Spark's DDL."""
    return SPARK_SCHEMA_WITH_HEADERS if include_headers else SPARK_SCHEMA
