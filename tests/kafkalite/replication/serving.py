"""A leader's side of copying, without a server: Fetch and ListOffsets of followers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import trio

from kafkalite.replication import replica_fetch
from kafkalite.replication.replica import Replica
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages import api_versions, fetch, list_offsets
from tests.kafkalite.replication.model_controller import TOPIC, TOPIC_ID, versions_of

SERVED = (api_versions.ApiVersionsRequest, fetch.FetchRequest, list_offsets.ListOffsetsRequest)


class Serving:
    """`find` gives the replica of a partition of the one topic."""

    def __init__(self, find: Callable[[int], Replica | None]) -> None:
        self.find = find
        self.changed = trio.Event()

    def notify(self) -> None:
        changed, self.changed = self.changed, trio.Event()
        changed.set()

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        if isinstance(request.body, fetch.FetchRequest):
            answer: Any = await self.fetch(request.body)
        elif isinstance(request.body, list_offsets.ListOffsetsRequest):
            answer = self.list_offsets(request.body)
        else:
            answer = versions_of(SERVED)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )

    async def fetch(self, request: fetch.FetchRequest) -> fetch.FetchResponse:
        """Without sessions, as a leader may: every Fetch names everything then."""
        if request.session_id:
            return fetch.FetchResponse(error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        answers = [self.read(request, wanted, True) for wanted in request.topics[0].partitions]
        with trio.move_on_after(request.max_wait_ms / 1000):
            while not any(
                each.records or each.error_code or each.diverging_epoch.epoch >= 0
                for each in answers
            ):
                await self.changed.wait()
                answers = [
                    self.read(request, wanted, False) for wanted in request.topics[0].partitions
                ]
        return fetch.FetchResponse(
            error_code=0,
            responses=[fetch.FetchableTopicResponse(topic_id=TOPIC_ID, partitions=answers)],
        )

    def read(
        self, request: fetch.FetchRequest, wanted: fetch.FetchPartition, is_first: bool
    ) -> fetch.PartitionData:
        replica = self.find(wanted.partition)
        try:
            if replica is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
            found = replica_fetch.read(
                replica,
                replica_fetch.Wanted(
                    wanted.current_leader_epoch,
                    wanted.fetch_offset,
                    wanted.last_fetched_epoch,
                    wanted.log_start_offset,
                    2000,
                ),
                replica_id=request.replica_state.replica_id,
                broker_epoch=request.replica_state.replica_epoch,
                minimum_one_batch=True,
                is_first=is_first,
            )
        except KafkaError as error:
            return fetch.PartitionData(
                partition_index=wanted.partition,
                error_code=error.code,
                high_watermark=-1,
                aborted_transactions=None,
                records=b"",
            )
        records: Any = found.records
        if records:
            data = records.read()
            records.close()
            records = data
        epoch, end = found.diverging or (-1, -1)
        return fetch.PartitionData(
            partition_index=wanted.partition,
            error_code=0,
            high_watermark=found.high_watermark,
            log_start_offset=replica.log.log_start_offset,
            diverging_epoch=fetch.EpochEndOffset(epoch=epoch, end_offset=end),
            aborted_transactions=None,
            records=records,
        )

    def list_offsets(
        self, request: list_offsets.ListOffsetsRequest
    ) -> list_offsets.ListOffsetsResponse:
        wanted = request.topics[0].partitions[0]
        replica = self.find(wanted.partition_index)
        partition = list_offsets.ListOffsetsPartitionResponse(
            partition_index=wanted.partition_index
        )
        if replica is None or replica.leading is None:
            partition.error_code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        else:
            log = replica.log
            partition.offset = (
                log.log_end_offset if wanted.timestamp == -1 else log.log_start_offset
            )
        return list_offsets.ListOffsetsResponse(
            topics=[list_offsets.ListOffsetsTopicResponse(name=TOPIC, partitions=[partition])]
        )
