"""Lists that are answered element by element: what belongs to an API, and what is named twice."""

from __future__ import annotations

from kafkalite.requests.mirrors import each_once, mirror_of
from kafkalite.requests.slices import at_once
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)


def test_an_api_without_elements_has_no_mirror() -> None:
    assert mirror_of(ApiKey.HEARTBEAT, object()) is None


def test_of_a_producer_the_last_marker_counts() -> None:
    """A partition once, whatever it is named by, and no topic without any."""
    markers = [
        WritableTxnMarker(
            producer_id=producer,
            topics=[
                WritableTxnMarkerTopic(name=name, partition_indexes=indexes)
                for name, indexes in topics
            ],
        )
        for producer, topics in (
            (1, [("z", [9])]),
            (2, []),
            (1, [("a", [0, 0]), ("b", []), ("a", [1, 0])]),
        )
    ]
    request = WriteTxnMarkersRequest(markers=markers)
    mirror = mirror_of(ApiKey.WRITE_TXN_MARKERS, request)
    assert mirror is not None
    first, second = at_once(each_once(mirror, markers))
    assert (first.producer_id, second.producer_id, second.topics) == (1, 2, [])
    (topic,) = first.topics
    assert (topic.name, topic.partition_indexes) == ("a", [0, 1])
