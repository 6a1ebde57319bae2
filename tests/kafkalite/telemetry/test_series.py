"""Names that clients give become names that Prometheus takes."""

from __future__ import annotations

import pytest

from kafkalite.telemetry.series import series_of


@pytest.mark.parametrize(
    ("name", "is_counter", "shown"),
    [
        (
            "org.apache.kafka.producer.queue.time.avg",
            False,
            "client_producer_queue_time_avg",
        ),
        (
            "org.apache.kafka.node.request.total",
            True,
            "client_node_request_total",
        ),
        ("org.apache.kafka.consumer.errors", True, "client_consumer_errors_total"),
        ("my-app/ä", False, "client_my_app__"),
        ("", False, "client_"),
    ],
)
def test_names(name: str, is_counter: bool, shown: str) -> None:
    assert series_of(name, {}, {}, is_counter=is_counter).name == shown


def test_labels_are_the_attributes_and_those_of_the_client() -> None:
    series = series_of(
        "m", {"node.id": "1", "client_id": "a lie", "__name__": "x", "0": "y", "": "z"},
        {"client_id": "c"}, is_counter=False,
    )  # fmt: skip
    assert dict(series.labels) == {
        "node_id": "1",
        "client_id": "c",
        "name__": "x",
        "_0": "y",
        "_": "z",
    }
    assert list(series.labels) == sorted(series.labels)


def test_longer_labels_take_more_memory() -> None:
    short = series_of("m", {"a": "b"}, {}, is_counter=False)
    long = series_of("m", {"a": "b" * 1000}, {}, is_counter=False)
    assert long.size_bytes == short.size_bytes + 999
