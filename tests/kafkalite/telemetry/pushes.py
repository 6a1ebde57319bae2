"""Pushed metrics as clients make them."""

from __future__ import annotations

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    AGGREGATION_TEMPORALITY_DELTA,
    Gauge,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource


def attributes(**values: str) -> list[KeyValue]:
    return [KeyValue(key=key, value=AnyValue(string_value=text)) for key, text in values.items()]


def gauge(name: str, value: float, **labels: str) -> Metric:
    point = NumberDataPoint(as_double=value, attributes=attributes(**labels))
    return Metric(name=name, gauge=Gauge(data_points=[point]))


def counter(name: str, value: int, *, is_delta: bool = True, is_monotonic: bool = True) -> Metric:
    temporality = AGGREGATION_TEMPORALITY_DELTA if is_delta else AGGREGATION_TEMPORALITY_CUMULATIVE
    return Metric(
        name=name,
        sum=Sum(
            data_points=[NumberDataPoint(as_int=value)],
            aggregation_temporality=temporality,
            is_monotonic=is_monotonic,
        ),
    )


def pushed(*metrics: Metric, **resource: str) -> bytes:
    """The bytes of one push, of a client with these attributes."""
    scope = ScopeMetrics(metrics=metrics)
    whole = ResourceMetrics(
        resource=Resource(attributes=attributes(**resource)), scope_metrics=[scope]
    )
    return MetricsData(resource_metrics=[whole]).SerializeToString()
