"""A request is split by partitions, and its answer put together again, for each API that has
them.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from conformance.harness.random_messages import random_message
from kafkalite.control.faults.matching import Seen, TopicPlace
from kafkalite.control.faults.partitions import identity, put_in, refuse_all, split
from kafkalite.control.faults.refusals import (
    has_partition_errors,
    partition_lists,
    partition_refusal,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.schema import fields_of, message_of

# APIs whose requests name partitions, and whose answers say of each what became of it.
WITH_PARTITIONS = [
    *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.METADATA, ApiKey.OFFSET_COMMIT),
    *(ApiKey.OFFSET_FETCH, ApiKey.DELETE_RECORDS, ApiKey.OFFSET_FOR_LEADER_EPOCH),
    *(ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.WRITE_TXN_MARKERS, ApiKey.TXN_OFFSET_COMMIT),
    *(ApiKey.OFFSET_DELETE, ApiKey.DESCRIBE_PRODUCERS, ApiKey.ELECT_LEADERS),
    *(ApiKey.ALTER_PARTITION_REASSIGNMENTS, ApiKey.DESCRIBE_QUORUM, ApiKey.SHARE_FETCH),
    *(ApiKey.SHARE_ACKNOWLEDGE, ApiKey.ALTER_SHARE_GROUP_OFFSETS, ApiKey.READ_SHARE_GROUP_STATE),
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
]
CODE = ErrorCode.NOT_LEADER_OR_FOLLOWER


def errors_in(answer: Any, path: tuple[object, ...] = ()) -> dict[tuple[object, ...], int]:
    """The error of each innermost struct that has one, by what identifies it."""
    found: dict[tuple[object, ...], int] = {}
    for field in fields_of(type(answer)):
        value = getattr(answer, field.name)
        if isinstance(value, list) and isinstance(field.element, type):
            for each in value:
                found |= errors_in(each, (*path, *identity(each)))
    code = getattr(answer, "error_code", getattr(answer, "partition_error_code", None))
    if not found and code is not None:
        found[path] = code
    return found


@pytest.mark.slow
@pytest.mark.parametrize("key", WITH_PARTITIONS, ids=lambda key: key.name)
def test_refused_and_rest_make_up_the_whole(key: ApiKey) -> None:
    random = Random(int(key) + 1)
    assert has_partition_errors(key)
    message = message_of(request_class(key))
    halves = 0
    for version in range(message.min_version, message.max_version + 1):
        for _ in range(30):
            request = random_message(random, request_class(key), version)
            seen = Seen(key, version, request)
            places = frozenset(place for place in seen.places if random.random() < 0.5)
            parts = split(key, request, places, lambda topic_id: None)
            whole = partition_refusal(key, version, request, CODE)
            expected = errors_in(whole)
            made = {}
            for half in (parts.refused, parts.rest):
                if half is not None:
                    made |= errors_in(partition_refusal(key, version, half, CODE))
            if parts.refused is not None and parts.rest is not None:
                halves += 1
                assert set(named(key, version, parts.refused)) <= places
                assert not set(named(key, version, parts.rest)) & places
            assert {path: code for path, code in made.items() if path} == {
                path: code for path, code in expected.items() if path and path in made
            }
    assert halves > 3


def named(key: ApiKey, version: int, request: Any) -> list[TopicPlace]:
    lists = {name for _, name in partition_lists(key)}
    only = {
        field.name: getattr(request, field.name)
        for field in fields_of(type(request))
        if field.name in lists
    }
    return Seen(key, version, type(request)(**only)).places


def produce(*indexes: int) -> ProduceRequest:
    return ProduceRequest(
        acks=-1,
        topic_data=[
            TopicProduceData(
                name=name, partition_data=[PartitionProduceData(index=each) for each in indexes]
            )
            for name in ("a", "b")
        ],
    )


def test_refusals_are_put_beside_what_was_answered() -> None:
    request = produce(0, 1)
    parts = split(ApiKey.PRODUCE, request, frozenset({("a", 1)}), lambda topic_id: None)
    assert refuse_all(ApiKey.PRODUCE, 9, parts, CODE, None) is None
    answered = partition_refusal(ApiKey.PRODUCE, 9, parts.rest, ErrorCode.NONE)
    refused = partition_refusal(ApiKey.PRODUCE, 9, parts.refused, CODE)
    whole = put_in(ApiKey.PRODUCE, answered, refused)
    assert [
        (topic.name, [(each.index, each.error_code) for each in topic.partition_responses])
        for topic in whole.responses
    ] == [("a", [(0, 0), (1, 6)]), ("b", [(0, 0), (1, 0)])]


def test_a_refusal_takes_the_place_of_what_was_read() -> None:
    closed: list[int] = []

    class Slice:
        def close(self) -> None:
            closed.append(1)

    request = produce(0, 1)
    answered = partition_refusal(ApiKey.PRODUCE, 9, request, ErrorCode.NONE)
    answered.responses[0].partition_responses[0] = _with_records(
        answered.responses[0].partition_responses[0], Slice()
    )
    parts = split(ApiKey.PRODUCE, request, frozenset({("a", 0)}), lambda topic_id: None)
    whole = put_in(
        ApiKey.PRODUCE, answered, partition_refusal(ApiKey.PRODUCE, 9, parts.refused, CODE)
    )
    assert [each.error_code for each in whole.responses[0].partition_responses] == [6, 0]
    assert closed == [1]


def _with_records(partition: Any, records: object) -> Any:
    class Read(type(partition)):
        pass

    read = Read(index=partition.index)
    read.records = records
    return read


def test_a_transaction_gets_all_partitions_or_none() -> None:
    from kafkalite.wire.messages.add_partitions_to_txn import (
        AddPartitionsToTxnRequest,
        AddPartitionsToTxnTopic,
    )

    request = AddPartitionsToTxnRequest(
        v3_and_below_topics=[AddPartitionsToTxnTopic(name="a", partitions=[0, 1])]
    )
    key = ApiKey.ADD_PARTITIONS_TO_TXN
    parts = split(key, request, frozenset({("a", 1)}), lambda topic_id: None)
    answer = refuse_all(key, 3, parts, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    results = answer.results_by_topic_v3_and_below[0].results_by_partition
    assert {each.partition_index: each.partition_error_code for each in results} == {
        0: ErrorCode.OPERATION_NOT_ATTEMPTED,
        1: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
