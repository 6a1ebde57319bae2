"""Error codes are counted wherever they stand, in messages and in rows."""

from __future__ import annotations

from collections import Counter

import pytest

from kafkalite.metrics.error_counts import counter_of_rows, error_codes
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from kafkalite.wire.messages.fetch import FetchResponse
from kafkalite.wire.messages.produce import (
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)
from kafkalite.wire.rows import SharedResponse
from kafkalite.wire.schema import KeptRow


def test_error_codes_are_found_wherever_they_stand() -> None:
    partitions = [PartitionProduceResponse(index=0, error_code=code) for code in (0, 3, 6)]
    response = ProduceResponse(responses=[TopicProduceResponse(partition_responses=partitions)])
    assert error_codes(response) == {3: 1, 6: 1}


def test_error_codes_at_the_top_and_below() -> None:
    assert error_codes(FetchResponse(error_code=70)) == {70: 1}
    topics = [CreatableTopicResult(name="t", error_code=code, configs=None) for code in (36, 36)]
    assert error_codes(CreateTopicsResponse(topics=topics)) == {36: 2}


def test_error_codes_of_partitions_by_their_longer_name() -> None:
    results: list[object] = [("t", [(0, 3), (1, 0), (2, 3)])]
    errors: Counter[int | str] = Counter()
    counter_of_rows(ApiKey.ADD_PARTITIONS_TO_TXN)((0, 0, (), results), errors)
    assert errors == {3: 2}


@pytest.mark.parametrize("code", [0, 3])
def test_error_codes_in_rows(code: int) -> None:
    partitions = [(0, code, -1, -1, -1, (), None, (-1, -1)), (1, 6, -1, -1, -1, (), None, (-1, -1))]
    errors: Counter[int | str] = Counter()
    counter_of_rows(ApiKey.PRODUCE)(([("t", None, partitions)], 0, ()), errors)
    assert errors == ({6: 1} if code == 0 else {3: 1, 6: 1})


@pytest.mark.parametrize("code", [0, 3])
def test_a_response_that_is_sent_many_times_counts_each_time(code: int) -> None:
    topic = (code, "t", None, False, [(6, 0, 1, 0, [1], [1], [])], 0)
    shared = SharedResponse((0, [], None, -1, [topic] if code else [], 0, 0))
    errors: Counter[int | str] = Counter()
    for _ in range(3):
        counter_of_rows(ApiKey.METADATA)(shared, errors)
    assert errors == ({3: 3, 6: 3} if code else {})


def test_a_kept_row_is_looked_through_unless_it_has_no_errors() -> None:
    topic = KeptRow((3, "t", None, False, [(6, 0, 1, 0, [1], [1], [])], 0))
    response = (0, [], None, -1, [topic, topic], 0, 0)
    errors: Counter[int | str] = Counter()
    counter_of_rows(ApiKey.METADATA)(response, errors)
    assert errors == {3: 2, 6: 2}
    topic.has_no_errors = True
    counter_of_rows(ApiKey.METADATA)(response, errors)
    assert errors == {3: 2, 6: 2}


def test_no_response_has_no_errors() -> None:
    errors: Counter[int | str] = Counter()
    counter_of_rows(ApiKey.PRODUCE)(None, errors)
    assert errors == {}
