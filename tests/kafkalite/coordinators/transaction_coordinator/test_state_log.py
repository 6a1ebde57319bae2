"""Records of __transaction_state in the versions that the feature level allows."""

from __future__ import annotations

from kafkalite.coordinators.coordinator_log import batches_of
from kafkalite.coordinators.transaction_coordinator.state_log import transaction_of
from kafkalite.testing import broker as a_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.stored.transaction_log import (
    PartitionsSchema,
    TransactionLogValue,
)
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from kafkalite.wire.record_batch import iterate_records
from tests.kafkalite.transactional import (
    NONE,
    Transactional,
    read_committed,
)


async def test_a_cluster_that_older_brokers_may_read(
    writer: Transactional, broker: a_broker
) -> None:
    """At level 0 of transaction.version records have no tagged fields, and V2 has no place in
    them."""
    lowered = FeatureUpdateKey(feature="transaction.version", max_version_level=0, upgrade_type=2)
    answer = await writer.client.ask(UpdateFeaturesRequest(feature_updates=[lowered]))
    assert answer.error_code == NONE
    assert await writer.init() is NONE
    assert await writer.add(0) is NONE
    assert await writer.produce(b"a", version=11) is NONE
    assert await writer.produce(b"b", 1) is ErrorCode.UNSUPPORTED_VERSION
    assert await writer.commit_offset(3) is ErrorCode.UNSUPPORTED_VERSION
    assert await writer.end(commit=True) is ErrorCode.UNSUPPORTED_VERSION
    assert await writer.end(commit=True, version=4) is NONE
    assert await read_committed(writer.client) == [b"a"]
    log = broker._running.services.transaction_coordinator._log.partition_of(writer.id).log
    last = [record for batch in batches_of(log) for record in iterate_records(batch)][-1]
    assert last.value is not None
    assert last.value[:2] == b"\0\0"


def test_a_record_may_name_a_topic_twice() -> None:
    named = [("t", [1]), ("t", [0]), ("none", [])]
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=0,
        transaction_timeout_ms=1000,
        transaction_status=1,
        transaction_partitions=[
            PartitionsSchema(topic=topic, partition_ids=indexes) for topic, indexes in named
        ],
        transaction_last_update_timestamp_ms=1,
        transaction_start_timestamp_ms=1,
    )
    assert transaction_of("id", value).partitions == {"t": {0, 1}}
