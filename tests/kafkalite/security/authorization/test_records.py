"""Rights to write: topics, transactions, and the ids of idempotent producers."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.requests.slices import at_once
from kafkalite.security.acls import Acl, Operation, ResourceType
from kafkalite.security.authorization.records import (
    add_partitions_to_txn,
    offset_for_leader_epoch,
    produce,
    write_txn_markers,
)
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafkalite.wire.messages.init_producer_id import InitProducerIdRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafkalite.wire.messages.write_txn_markers import WritableTxnMarker, WriteTxnMarkersRequest
from tests.kafkalite.conftest import batch
from tests.kafkalite.security.authorizers import acl, asked, on_cluster, on_transaction
from tests.kafkalite.security.secured import Users, allow, grant

DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
TRANSACTION_DENIED = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


@pytest.mark.parametrize("version", [9, 13])
async def test_produce_needs_write_on_the_topic(users: Users, version: int) -> None:
    root, alice = await users.user("root"), await users.user("alice")
    metadata = MetadataRequest(topics=[MetadataRequestTopic(name="secret")])
    topic_id = (await root.ask(metadata)).topics[0].topic_id
    data = TopicProduceData(partition_data=[PartitionProduceData(index=0, records=batch(b"v"))])
    if version >= 13:
        data.topic_id = topic_id
    else:
        data.name = "secret"
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
    (topic,) = (await alice.ask(request, version)).responses
    assert topic.partition_responses[0].error_code == DENIED
    assert topic.partition_responses[0].base_offset == -1
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "sec", resource_pattern_type=4))
    ((written,),) = (
        topic.partition_responses for topic in (await alice.ask(request, version)).responses
    )
    assert (written.error_code, written.base_offset) == (0, 0)


@pytest.mark.parametrize("version", [9, 12])
def test_a_topic_that_nothing_is_written_to_is_not_asked_for(version: int) -> None:
    """Apache Kafka looks at partitions: of a topic without any it says nothing."""
    request = ProduceRequest(None, 0, 1000, [TopicProduceData(name="secret", partition_data=[])])
    verdict = at_once(produce(asked(ApiKey.PRODUCE, request, version=version)))
    assert (verdict.request, verdict.finish) == (request, None)


def written(transactional_id: str | None, *names: str, **settings: Any) -> ProduceRequest:
    records = batch(b"v", producer_id=1, producer_epoch=0, base_sequence=0, **settings)
    topics = [
        TopicProduceData(name=name, partition_data=[PartitionProduceData(0, records)])
        for name in names
    ]
    return ProduceRequest(transactional_id, -1, 1000, topics)


@pytest.mark.parametrize(
    ("transactional_id", "acls", "is_refused"),
    [
        (None, [], True),
        ("t", [], True),
        ("t", [on_transaction("u")], True),
        ("t", [on_transaction("t")], False),
    ],
)
def test_records_of_a_transaction_need_its_id(
    transactional_id: str | None, acls: list[Acl], is_refused: bool
) -> None:
    request = written(transactional_id, "a", is_transactional=True)
    verdict = at_once(
        produce(asked(ApiKey.PRODUCE, request, acl("a", Operation.WRITE), *acls, version=9))
    )
    assert verdict.is_final is is_refused
    if is_refused:
        (topic,) = verdict.response.responses
        assert topic.partition_responses[0].error_code == TRANSACTION_DENIED


def test_other_records_do_not_need_the_id_that_is_sent_with_them() -> None:
    request = written("t", "a")
    verdict = at_once(produce(asked(ApiKey.PRODUCE, request, acl("a", Operation.WRITE), version=9)))
    assert verdict.request is request


def test_without_acknowledgement_nothing_is_said_of_a_refusal() -> None:
    request = written("t", "a", is_transactional=True)
    request.acks = 0
    verdict = at_once(produce(asked(ApiKey.PRODUCE, request, version=9)))
    assert (verdict.is_final, verdict.response) == (True, None)


def test_partitions_are_refused_once_and_empty_topics_not() -> None:
    request = written(None, "a", "b", "a", "c")
    request.topic_data[0].partition_data.append(request.topic_data[0].partition_data[0])
    request.topic_data[3].partition_data.clear()
    verdict = at_once(produce(asked(ApiKey.PRODUCE, request, version=3)))
    assert verdict.finish is not None
    finished = at_once(verdict.finish(ProduceResponse()))
    assert [(each.name, len(each.partition_responses)) for each in finished.responses] == [
        ("a", 1),
        ("b", 1),
    ]


async def test_idempotent_producers_write_somewhere(users: Users) -> None:
    alice = await users.user("alice")
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    assert (await alice.ask(request)).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    await grant(users, allow(Operation.WRITE, ResourceType.TOPIC, "anything"))
    assert (await alice.ask(request)).error_code == ErrorCode.NONE
    request.transactional_id = "t"
    assert (await alice.ask(request)).error_code == TRANSACTION_DENIED


async def test_idempotent_producers_by_their_own_operation(users: Users) -> None:
    alice = await users.user("alice")
    await grant(users, allow(Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, "kafka-cluster"))
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000)
    assert (await alice.ask(request)).error_code == ErrorCode.NONE


def added(*acls: Acl, version: int = 3, named: tuple[str, ...] = ("a", "b")) -> Any:
    topics = [AddPartitionsToTxnTopic(name=name, partitions=[0, 5]) for name in named]
    request = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t", v3_and_below_topics=topics
    )
    return at_once(
        add_partitions_to_txn(
            asked(
                ApiKey.ADD_PARTITIONS_TO_TXN,
                request,
                *acls,
                version=version,
                topics={"a": 1, "b": 1},
            )
        )
    )


def codes(verdict: Any) -> dict[str, list[int]]:
    return {
        topic.name: [each.partition_error_code for each in topic.results_by_partition]
        for topic in verdict.response.results_by_topic_v3_and_below
    }


def test_one_topic_that_is_refused_refuses_the_whole_transaction_step() -> None:
    verdict = added(on_transaction("t"), acl("a", Operation.WRITE))
    assert verdict.is_final
    assert codes(verdict) == {
        "a": [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        "b": [DENIED, DENIED],
    }


def test_internal_topics_are_refused_whatever_acls_say() -> None:
    verdict = added(
        on_transaction("t"), acl("*", Operation.WRITE), named=("a", "__consumer_offsets")
    )
    assert verdict.is_final
    assert codes(verdict) == {
        "a": [ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION],
        "__consumer_offsets": [DENIED, DENIED],
    }


def test_a_transaction_is_asked_for_first() -> None:
    verdict = added(acl("a", Operation.WRITE), acl("b", Operation.WRITE))
    assert codes(verdict) == {name: [TRANSACTION_DENIED] * 2 for name in ("a", "b")}


def test_with_both_partitions_are_added() -> None:
    verdict = added(on_transaction("t"), acl("a", Operation.WRITE), acl("b", Operation.WRITE))
    assert not verdict.is_final


def test_batches_of_transactions_are_for_brokers_only() -> None:
    assert added(on_transaction("t"), acl("*", Operation.WRITE), version=4).is_final
    assert not added(on_cluster(Operation.CLUSTER_ACTION), version=4).is_final


@pytest.mark.parametrize(
    ("acls", "is_refused"),
    [
        ([], True),
        ([on_cluster(Operation.ALTER)], False),
        ([on_cluster(Operation.CLUSTER_ACTION)], False),
        ([on_cluster(Operation.DESCRIBE)], True),
    ],
)
def test_markers_are_written_by_brokers_and_administrators(
    acls: list[Acl], is_refused: bool
) -> None:
    request = WriteTxnMarkersRequest(markers=[WritableTxnMarker(producer_id=1)])
    verdict = at_once(write_txn_markers(asked(ApiKey.WRITE_TXN_MARKERS, request, *acls, version=1)))
    assert verdict.is_final is is_refused


def test_epochs_are_told_to_brokers_or_topic_by_topic() -> None:
    partitions = [OffsetForLeaderPartition(partition=0)]
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic=name, partitions=partitions) for name in ("a", "b")]
    )

    def verdict(entry: Acl) -> Any:
        return at_once(
            offset_for_leader_epoch(
                asked(ApiKey.OFFSET_FOR_LEADER_EPOCH, request, entry, version=4)
            )
        )

    assert verdict(on_cluster(Operation.CLUSTER_ACTION)).request is request
    rest = verdict(acl("b", Operation.DESCRIBE)).request
    assert [each.topic for each in rest.topics] == ["b"]
