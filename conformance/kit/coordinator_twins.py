"""Faults of requests to coordinators, as kafkalite's rules have them and as they are on the wire.

A member of a group reads and commits before the fault, in it and after it. So does a producer with
its transactions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any, Final

from confluent_kafka import TopicPartition

from conformance.harness.broker import Broker
from conformance.kit.coordinator_clients import Beginning, Joining, idle
from conformance.kit.faulting_proxy import WireFault
from conformance.kit.twice_clients import PATIENCE_SECONDS, Outcome, read_by_librdkafka
from conformance.kit.twins import ON_BOTH_WAYS, Place, Twin, until
from kafkalite.faults import error
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafkalite.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafkalite.wire.messages.end_txn import EndTxnResponse
from kafkalite.wire.messages.heartbeat import HeartbeatResponse
from kafkalite.wire.messages.init_producer_id import InitProducerIdResponse
from kafkalite.wire.messages.join_group import JoinGroupResponse
from kafkalite.wire.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from kafkalite.wire.messages.sync_group import SyncGroupResponse
from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


def _commit_refused(request: Any, code: ErrorCode) -> OffsetCommitResponse:
    topics = [
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(each.partition_index, code)
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return OffsetCommitResponse(topics=topics)


def _txn_commit_refused(request: Any, code: ErrorCode) -> TxnOffsetCommitResponse:
    topics = [
        TxnOffsetCommitResponseTopic(
            name=topic.name,
            partitions=[
                TxnOffsetCommitResponsePartition(each.partition_index, code)
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return TxnOffsetCommitResponse(topics=topics)


def _partitions_refused(request: Any, code: ErrorCode) -> AddPartitionsToTxnResponse:
    topics = [
        AddPartitionsToTxnTopicResult(
            topic.name,
            [AddPartitionsToTxnPartitionResult(each, code) for each in topic.partitions],
        )
        for topic in request.v3_and_below_topics
    ]
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)


# The answer of a broker that does none of it, as each request's `getErrorResponse` says it.
_REFUSED: Final[Mapping[ApiKey, Callable[[Any, ErrorCode], Any]]] = {
    ApiKey.JOIN_GROUP: lambda _, code: JoinGroupResponse(error_code=code, generation_id=-1),
    ApiKey.SYNC_GROUP: lambda _, code: SyncGroupResponse(error_code=code),
    ApiKey.HEARTBEAT: lambda _, code: HeartbeatResponse(error_code=code),
    ApiKey.OFFSET_COMMIT: _commit_refused,
    ApiKey.INIT_PRODUCER_ID: lambda _, code: InitProducerIdResponse(
        error_code=code, producer_id=-1, producer_epoch=-1
    ),
    ApiKey.ADD_PARTITIONS_TO_TXN: _partitions_refused,
    ApiKey.ADD_OFFSETS_TO_TXN: lambda _, code: AddOffsetsToTxnResponse(error_code=code),
    ApiKey.TXN_OFFSET_COMMIT: _txn_commit_refused,
    ApiKey.END_TXN: lambda _, code: EndTxnResponse(error_code=code),
}
_C: Final = ErrorCode
GROUP_ERRORS: Final[Mapping[ApiKey, tuple[ErrorCode, ...]]] = {
    ApiKey.JOIN_GROUP: (_C.COORDINATOR_LOAD_IN_PROGRESS, _C.NOT_COORDINATOR),
    ApiKey.SYNC_GROUP: (_C.REBALANCE_IN_PROGRESS, _C.COORDINATOR_NOT_AVAILABLE),
    ApiKey.HEARTBEAT: (_C.REBALANCE_IN_PROGRESS, _C.UNKNOWN_MEMBER_ID, _C.NOT_COORDINATOR),
    ApiKey.OFFSET_COMMIT: (
        _C.UNKNOWN_MEMBER_ID,
        _C.REBALANCE_IN_PROGRESS,
        _C.COORDINATOR_LOAD_IN_PROGRESS,
        _C.OFFSET_METADATA_TOO_LARGE,
    ),
}
TRANSACTION_ERRORS: Final[Mapping[ApiKey, tuple[ErrorCode, ...]]] = {
    ApiKey.INIT_PRODUCER_ID: (_C.CONCURRENT_TRANSACTIONS, _C.COORDINATOR_LOAD_IN_PROGRESS),
    ApiKey.ADD_PARTITIONS_TO_TXN: (_C.CONCURRENT_TRANSACTIONS, _C.TOPIC_AUTHORIZATION_FAILED),
    ApiKey.ADD_OFFSETS_TO_TXN: (_C.NOT_COORDINATOR, _C.GROUP_AUTHORIZATION_FAILED),
    ApiKey.TXN_OFFSET_COMMIT: (_C.COORDINATOR_LOAD_IN_PROGRESS, _C.UNKNOWN_MEMBER_ID),
    ApiKey.END_TXN: (_C.COORDINATOR_LOAD_IN_PROGRESS, _C.CONCURRENT_TRANSACTIONS),
}
# Brokers do this by themselves for newer producers (KIP-890).
OF_OLDER_PRODUCERS: Final = frozenset({ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN})
_LOST: Final = frozenset({"drop before", "drop after"})
_SILENT: Final = "silence after"
_HEARD_SECONDS: Final = 0.5
_ENDS: Final = frozenset({ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN})
Twins = Mapping[str, tuple[ApiKey, Twin]]


def twins_of(errors: Mapping[ApiKey, tuple[ErrorCode, ...]]) -> Twins:
    """Lost requests and answers of each API, and its errors, by their names.

    Delays and answers in pieces are the same for every API, so those of Produce and Fetch will do.
    Clients wait for the answer of a JoinGroup, SyncGroup or Heartbeat as long as for a session.
    """

    def refusal(api_key: ApiKey, code: ErrorCode) -> Twin:
        answer = _REFUSED[api_key]
        return Twin(code.name, error(code.name), WireFault(answer=lambda body: answer(body, code)))

    return {
        f"{api_key.name}, {twin.name}": (api_key, twin)
        for api_key, codes in errors.items()
        for twin in (
            *(each for each in ON_BOTH_WAYS if each.name in _LOST),
            *(each for each in ON_BOTH_WAYS if each.name == _SILENT and api_key in _ENDS),
            *(refusal(api_key, code) for code in codes),
        )
    }


def in_a_group(broker: Broker, api_key: ApiKey, twin: Twin, join: Joining) -> Outcome:
    """Tell what a member reads, what its commits say, and the offset in the end."""
    joins = api_key in (ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP)
    with closing(Place(broker, twin, api_key)) as place:
        place.write("one", "two")
        if joins:
            place.arm()
        with closing(join(place.bootstrap, place.topic)) as member:

            def read(holds: Callable[[], bool]) -> None:
                until(lambda: (member.poll(), holds())[1])

            read(lambda: "one" in member.values)
            told = [member.commit()]
            if not joins:
                place.arm()
            read(lambda: "two" in member.values)
            told.append(member.commit())
            read(lambda: place.was_done)
            if api_key is ApiKey.HEARTBEAT:
                # The client hears of it before there is more to read, and not at the same time.
                heard = time.monotonic() + _HEARD_SECONDS
                read(lambda: time.monotonic() > heard)
            place.write("three")
            read(lambda: "three" in member.values)
            told.append(member.commit())
        return {
            "values": list(dict.fromkeys(member.values)),
            "told": told,
            "committed": _committed(broker, place.topic),
        }


def _committed(broker: Broker, group: str) -> int:
    with idle(broker.bootstrap, group) as consumer:
        (partition,) = consumer.committed([TopicPartition(group, 0)], PATIENCE_SECONDS)
    return int(partition.offset)


def in_transactions(broker: Broker, api_key: ApiKey, twin: Twin, begin: Beginning) -> Outcome:
    """Tell what a producer hears of its transactions, what is committed, and the offset."""
    begins = api_key is ApiKey.INIT_PRODUCER_ID
    with closing(Place(broker, twin, api_key)) as place:
        if begins:
            place.arm()
        writer = begin(place.bootstrap, place.topic)
        told = [writer.began]
        for number, value in enumerate(("before", "into", "after")):
            if value == "into" and not begins:
                place.arm()
            told.append(writer.transact(value, number))
        assert place.was_done
        return {
            "told": told,
            "values": read_by_librdkafka(broker.bootstrap, place.topic)["values"],
            "committed": _committed(broker, place.topic),
        }
