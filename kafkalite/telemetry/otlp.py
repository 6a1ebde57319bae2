"""Metrics as clients push them, OpenTelemetry's MetricsData, as points.

Kafka's clients send gauges and sums. Histograms and summaries are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_DELTA,
    DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK,
    Metric,
    MetricsData,
    NumberDataPoint,
)

from kafkalite.requests.slices import Steps
from kafkalite.telemetry.series import Series, series_of
from kafkalite.wire.errors import ErrorCode, KafkaError


class PointKind(Enum):
    """The meaning of a point's value."""

    GAUGE = "the value now"
    SUM = "the sum so far"
    INCREASE = "the growth of a sum since the last push"


class Point(NamedTuple):
    """One value that was pushed."""

    series: Series
    kind: PointKind
    value: float


def read_points(data: bytes, client: Mapping[str, str]) -> Steps[list[Point]]:
    """All points, in the order of the message, with the client's labels.

    Raises KafkaError(INVALID_RECORD): the bytes are no MetricsData.
    """
    try:
        pushed = MetricsData.FromString(data)
    except DecodeError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None
    points: list[Point] = []
    for resource in pushed.resource_metrics:
        common = _texts(resource.resource.attributes)
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                kind, is_counter, values = _values(metric)
                for value in values:
                    if not value.flags & DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK:
                        attributes = {**common, **_texts(value.attributes)}
                        series = series_of(metric.name, attributes, client, is_counter=is_counter)
                        points.append(Point(series, kind, _number(value)))
                    yield
    return points


def _values(metric: Metric) -> tuple[PointKind, bool, Sequence[NumberDataPoint]]:
    """Their kind, whether they count up, and the values of a metric."""
    if not metric.HasField("sum"):
        return PointKind.GAUGE, False, metric.gauge.data_points
    is_delta = metric.sum.aggregation_temporality == AGGREGATION_TEMPORALITY_DELTA
    kind = PointKind.INCREASE if is_delta else PointKind.SUM
    return kind, metric.sum.is_monotonic, metric.sum.data_points


def _number(value: NumberDataPoint) -> float:
    return float(value.as_int) if value.HasField("as_int") else value.as_double


def _texts(attributes: Iterable[KeyValue]) -> dict[str, str]:
    return {each.key: _text(each.value) for each in attributes}


def _text(value: AnyValue) -> str:
    kind = value.WhichOneof("value")
    if kind is None:
        return ""
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    return str(getattr(value, kind)).strip()
