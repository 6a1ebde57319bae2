"""The controllers' log, as brokers fetch it: its end is not committed at once.

It may be truncated when another controller takes over. Source: KafkaRaftClient.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from uuid import UUID

import trio

from kafkalite.cluster.record_codec import encode_record
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages import fetch
from kafkalite.wire.messages.stored.no_op_record import NoOpRecord
from kafkalite.wire.record_batch import Record, build_batch

CONTROLLER_ID = 3000
PORT = 3000  # its address in a network that is none


class MetadataLog:
    """The leader's log. `committed_end` is its high watermark."""

    def __init__(self, random: Random, port: int = PORT) -> None:
        self.random = random
        self.port = port
        self.epoch = 1
        self.batches: list[bytes] = []
        self.ends: list[int] = []
        self.end = 0
        self.committed_end = 0
        self.changed = trio.Event()

    async def write(self, records: Sequence[object]) -> bool:
        """Append, and commit a little later; False if another controller truncated it."""
        epoch = self.epoch
        self.append(records)
        await trio.sleep(self.random.choice((0.0, 0.005, 0.05)))
        if epoch != self.epoch:
            return False
        self.committed_end = self.end
        self.notify()
        return True

    def append(self, records: Sequence[object]) -> None:
        batch = build_batch(
            [Record(timestamp=0, value=encode_record(record)) for record in records],
            base_offset=self.end,
            partition_leader_epoch=self.epoch,
        )
        self.batches.append(batch)
        self.end += len(records)
        self.ends.append(self.end)
        self.notify()

    def fail_over(self) -> None:
        """Another controller: what was not committed is gone, other records take its place."""
        while self.end > self.committed_end:
            self.batches.pop()
            self.ends.pop()
            self.end = self.ends[-1] if self.ends else 0
        self.epoch += 1
        self.append([NoOpRecord()])
        self.committed_end = self.end
        self.notify()

    def notify(self) -> None:
        changed, self.changed = self.changed, trio.Event()
        changed.set()

    async def fetch(self, request: fetch.FetchRequest) -> fetch.FetchResponse:
        wanted = request.topics[0].partitions[0]
        with trio.move_on_after(request.max_wait_ms / 1000):
            while (
                wanted.current_leader_epoch == self.epoch
                and wanted.fetch_offset == self.end
                and wanted.high_watermark >= self.committed_end
            ):
                await self.changed.wait()
        data = fetch.PartitionData(
            partition_index=0,
            error_code=0,
            high_watermark=self.committed_end,
            current_leader=fetch.LeaderIdAndEpoch(leader_id=CONTROLLER_ID, leader_epoch=self.epoch),
            records=b"",
        )
        if wanted.current_leader_epoch != self.epoch:
            data.error_code = ErrorCode.FENCED_LEADER_EPOCH
        elif not self.is_mine(wanted.fetch_offset, wanted.last_fetched_epoch):
            data.diverging_epoch = self.diverging(wanted)
        else:
            data.records = b"".join(
                batch
                for batch, end in zip(self.batches, self.ends, strict=True)
                if end > wanted.fetch_offset
            )
        return fetch.FetchResponse(
            error_code=0,
            responses=[fetch.FetchableTopicResponse(topic_id=UUID(int=1), partitions=[data])],
            node_endpoints=[
                fetch.NodeEndpoint(node_id=CONTROLLER_ID, host="127.0.0.1", port=self.port)
            ],
        )

    def epoch_before(self, offset: int) -> int:
        for batch, end in zip(self.batches, self.ends, strict=True):
            if end == offset:
                return int.from_bytes(batch[12:16], "big")
        return 0 if offset == 0 else -1

    def is_mine(self, offset: int, epoch: int) -> bool:
        return self.epoch_before(offset) == epoch

    def diverging(self, wanted: fetch.FetchPartition) -> fetch.EpochEndOffset:
        ends = [
            (int.from_bytes(batch[12:16], "big"), end)
            for batch, end in zip(self.batches, self.ends, strict=True)
            if int.from_bytes(batch[12:16], "big") <= wanted.last_fetched_epoch
        ]
        epoch, end = ends[-1] if ends else (0, 0)
        return fetch.EpochEndOffset(epoch=epoch, end_offset=end)
