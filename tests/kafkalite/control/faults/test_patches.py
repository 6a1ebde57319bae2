"""Answers are changed, made up and damaged as a rule says, and the original is left alone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkalite.control.faults.patches import (
    as_another_producer,
    copied,
    corrupted,
    message_from,
    patch,
)
from kafkalite.control.problems import Problem
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from kafkalite.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

ORDERS = UUID(int=7)


def metadata() -> MetadataResponse:
    def topic(name: str) -> MetadataResponseTopic:
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=1) for index in (0, 1)
        ]
        return MetadataResponseTopic(name=name, partitions=partitions)

    return MetadataResponse(controller_id=1, topics=[topic("a"), topic("b")])


def leaders(answer: MetadataResponse) -> list[list[int]]:
    return [[each.leader_id for each in topic.partitions] for topic in answer.topics]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("topics.*.partitions.*.leader_id", [[7, 7], [7, 7]]),
        ("topics.1.partitions.0.leader_id", [[1, 1], [7, 1]]),
        ("topics.*.partitions.1.leader_id", [[1, 7], [1, 7]]),
        # this answer has no such element
        ("topics.2.partitions.*.leader_id", [[1, 1], [1, 1]]),
        ("topics.first.partitions.*.leader_id", [[1, 1], [1, 1]]),
    ],
)
def test_a_path_leads_to_fields(path: str, expected: list[list[int]]) -> None:
    answer = metadata()
    patch(answer, {path: 7})
    assert leaders(answer) == expected


def test_all_changes_are_made_and_values_become_what_is_declared() -> None:
    answer = metadata()
    patch(
        answer,
        {
            "controller_id": 9,
            "topics.0.topic_id": str(ORDERS),
            "topics.1.partitions": [{"partition_index": 5, "replica_nodes": [1, 2]}],
            "cluster_id": None,
        },
    )
    assert (answer.controller_id, answer.cluster_id) == (9, None)
    assert answer.topics[0].topic_id == ORDERS
    assert answer.topics[1].partitions == [
        MetadataResponsePartition(partition_index=5, replica_nodes=[1, 2])
    ]


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"topics.*.leader": 1}, "invalid_patch", "no field 'leader'"),
        ({"leader": 1}, "invalid_patch", "no field 'leader'"),
        ({"controller_id": "one"}, "invalid_answer", "is a number"),
        ({"topics.0.name": 5}, "invalid_answer", "is a string"),
        ({"topics.0.partitions": 5}, "invalid_answer", "is a list"),
        ({"topics.0.partitions": [{"leader": 1}]}, "invalid_answer", "no field 'leader'"),
    ],
)
def test_what_the_answer_cannot_have_is_refused(
    changes: dict[str, Any], code: str, message: str
) -> None:
    with pytest.raises(Problem, match=message) as caught:
        patch(metadata(), changes)
    assert caught.value.code == code


def test_an_answer_is_made_of_fields_and_defaults() -> None:
    fields = {"topics": [{"name": "a", "error_code": 5, "topic_id": str(ORDERS)}]}
    made = message_from(ApiKey.METADATA, 12, fields)
    assert made == MetadataResponse(
        topics=[MetadataResponseTopic(name="a", error_code=5, topic_id=ORDERS)]
    )
    records = message_from(
        ApiKey.FETCH, 12, {"responses": [{"topic": "a", "partitions": [{"records": "AP8="}]}]}
    )
    assert records.responses[0].partitions[0].records == b"\x00\xff"
    with pytest.raises(Problem, match="MetadataResponse has no field 'topic'"):
        message_from(ApiKey.METADATA, 12, {"topic": "a"})


def test_a_copy_is_patched_alone() -> None:
    answer = metadata()
    other = copied(answer)
    assert other == answer
    patch(other, {"topics.*.partitions.*.leader_id": 7})
    assert leaders(answer) == [[1, 1], [1, 1]]


# Damage


def fetched(*batches: bytes) -> FetchResponse:
    partitions = [PartitionData(partition_index=0, records=b""), PartitionData(records=b"")]
    partitions[1].records = b"".join(batches)
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])


def records_of(answer: FetchResponse) -> bytes:
    records = answer.responses[0].partitions[1].records
    assert isinstance(records, bytes)
    return records


FIRST, SECOND = (
    build_batch([Record(timestamp=1, key=b"k", value=value)], base_offset=offset)
    for offset, value in enumerate((b"first", b"second"))
)


def test_a_damaged_checksum_is_that_of_the_first_batch() -> None:
    answer = fetched(FIRST, SECOND)
    corrupted(answer, "crc")
    first, second = iterate_batches(records_of(answer))
    assert (first.is_valid(), second.is_valid()) == (False, True)
    assert records_of(answer)[21 : len(FIRST)] == FIRST[21:]


def test_a_damaged_length_is_off_by_one() -> None:
    answer = fetched(FIRST, SECOND)
    corrupted(answer, "length")
    told, true = (int.from_bytes(data[8:12]) for data in (records_of(answer), FIRST))
    assert abs(told - true) == 1
    assert records_of(answer)[12:] == (FIRST + SECOND)[12:]


def test_a_damaged_value_has_the_right_checksum() -> None:
    answer = fetched(FIRST, SECOND)
    corrupted(answer, "value")
    first, second = iterate_batches(records_of(answer))
    assert (first.is_valid(), second.is_valid()) == (True, True)
    (record,) = iterate_records(first)
    assert record.key == b"k"
    assert bytes(record.value or b"") == b"firsu"
    assert records_of(answer)[len(FIRST) :] == SECOND


def test_an_answer_without_records_stays_as_it_is() -> None:
    answer = fetched()
    corrupted(answer, "crc")
    assert answer == fetched()


# A second producer


def test_another_producer_repeats_the_partitions_that_matched() -> None:
    batch = build_batch(
        [Record(timestamp=1, value=b"v", headers=[("h", b"x")]), Record(timestamp=2, value=None)],
        producer_id=7,
        producer_epoch=1,
        base_sequence=3,
        is_transactional=True,
    )

    def topic(**names: Any) -> TopicProduceData:
        partitions = [PartitionProduceData(index=index, records=batch) for index in (0, 1)]
        return TopicProduceData(
            partition_data=[*partitions, PartitionProduceData(index=2)], **names
        )

    request = ProduceRequest(
        transactional_id="billing", acks=-1, topic_data=[topic(name="a"), topic(topic_id=ORDERS)]
    )
    known = {ORDERS: "orders"}
    again = as_another_producer(request, frozenset({("orders", 1)}), known.get)
    assert again.transactional_id is None
    assert [[each.index for each in topic.partition_data] for topic in again.topic_data] == [
        [],
        [1],
    ]
    (repeated,) = iterate_batches(again.topic_data[1].partition_data[0].records)
    assert (repeated.producer_id, repeated.is_transactional) == (-1, False)
    (original,) = iterate_batches(batch)
    assert list(iterate_records(repeated)) == list(iterate_records(original))
    every = as_another_producer(request, frozenset(), known.get)
    assert [[each.index for each in topic.partition_data] for topic in every.topic_data] == [
        [0, 1],
        [0, 1],
    ]
    assert request.topic_data[0].partition_data[0].records == batch
