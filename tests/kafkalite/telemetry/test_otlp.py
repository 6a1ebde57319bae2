"""OpenTelemetry's messages as points."""

from __future__ import annotations

import pytest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
)

from kafkalite.requests.slices import at_once
from kafkalite.telemetry.otlp import Point, PointKind, read_points
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.telemetry.pushes import counter, gauge, pushed


def read(data: bytes) -> list[Point]:
    return at_once(read_points(data, {"client_id": "c"}))


def test_a_gauge_with_the_attributes_of_its_point_and_of_its_client() -> None:
    (point,) = read(pushed(gauge("m", 1.5, node="1"), rack="r"))
    assert point.kind is PointKind.GAUGE
    assert point.value == 1.5
    assert not point.series.is_counter
    assert dict(point.series.labels) == {"client_id": "c", "node": "1", "rack": "r"}


def test_sums() -> None:
    points = read(
        pushed(
            counter("a", 1),
            counter("b", 2, is_delta=False),
            counter("c", 3, is_monotonic=False),
        )
    )
    assert [(each.kind, each.series.is_counter, each.value) for each in points] == [
        (PointKind.INCREASE, True, 1.0),
        (PointKind.SUM, True, 2.0),
        (PointKind.INCREASE, False, 3.0),
    ]


def test_points_without_a_value_and_histograms_are_passed_over() -> None:
    nothing = NumberDataPoint(flags=DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK)
    histogram = Histogram(data_points=[HistogramDataPoint(count=1)])
    assert (
        read(
            pushed(
                Metric(name="a", gauge=Gauge(data_points=[nothing])),
                Metric(name="b", histogram=histogram),
                Metric(name="c"),
            )
        )
        == []
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (AnyValue(bool_value=True), "true"),
        (AnyValue(int_value=7), "7"),
        (AnyValue(double_value=0.5), "0.5"),
        (AnyValue(), ""),
    ],
)
def test_attributes_of_other_types(value: AnyValue, text: str) -> None:
    point = NumberDataPoint(as_int=1, attributes=[KeyValue(key="k", value=value)])
    (read_point,) = read(pushed(Metric(name="m", gauge=Gauge(data_points=[point]))))
    assert dict(read_point.series.labels)["k"] == text


def test_bytes_that_are_no_metrics() -> None:
    with pytest.raises(KafkaError) as refused:
        read(b"\xff" * 10)
    assert refused.value.code is ErrorCode.INVALID_RECORD
