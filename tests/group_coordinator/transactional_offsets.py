"""Offsets that are committed in transactions."""

from __future__ import annotations

from kafkalite.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)


async def txn_commit(world, producer_id, topic, partition, offset, **request):
    response = await world.coordinator.txn_offset_commit(
        world.member().context,
        TxnOffsetCommitRequest(
            transactional_id="t",
            producer_id=producer_id,
            producer_epoch=0,
            topics=[
                TxnOffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        TxnOffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset
                        )
                    ],
                )
            ],
            **{"group_id": "group"} | request,
        ),
    )
    return response.topics[0].partitions[0].error_code
