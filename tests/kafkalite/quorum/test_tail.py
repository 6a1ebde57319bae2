"""The metadata are followed for ever: from the leader, or from any controller that names it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random
from typing import Any
from uuid import UUID

import pytest
import trio

from kafkalite.peers.link import Address
from kafkalite.quorum.observer import Committed, Observer
from kafkalite.quorum.tail import MetadataTail
from kafkalite.requests.slices import Steps
from kafkalite.wire.codec import decode_request, encode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import join
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.fetch import FetchRequest, FetchResponse
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from tests.kafkalite.replication.model_controller import versions_of
from tests.kafkalite.replication.model_metadata_log import PORT, MetadataLog
from tests.kafkalite.replication.virtual_network import Network


def feature(level: int) -> FeatureLevelRecord:
    return FeatureLevelRecord(name="f", feature_level=level)


class Followed:
    """A tail, and what it has published."""

    def __init__(self, network: Network, log: MetadataLog) -> None:
        self.network, self.log = network, log
        self.observer = Observer(1, "cluster", UUID(int=7))
        self.published: list[Committed] = []
        nowhere, there = Address("", 1), Address("", PORT)
        self.tail = MetadataTail(
            self.observer, [nowhere, there], self._publish, network.connect_from(1)
        )
        self.refusal = ErrorCode.NONE

    def _publish(self, committed: Committed) -> Steps[None]:
        self.published.append(committed)
        yield

    @property
    def levels(self) -> list[int]:
        return [
            record.feature_level
            for committed in self.published
            for record in committed.records
            if isinstance(record, FeatureLevelRecord)
        ]

    async def serve(self, frame: bytes) -> bytes:
        request = decode_request(frame)
        answer: Any = versions_of((ApiVersionsRequest, FetchRequest))
        if isinstance(request.body, FetchRequest):
            answer = FetchResponse(error_code=self.refusal)
            if not self.refusal:
                answer = await self.log.fetch(request.body)
        return join(
            encode_response(request.api_key, request.api_version, request.correlation_id, answer)
        )


@asynccontextmanager
async def followed() -> AsyncIterator[Followed]:
    async with trio.open_nursery() as nursery:
        network = Network(Random(1), nursery)
        made = Followed(network, MetadataLog(network.random))
        network.serve(PORT, made.serve)
        nursery.start_soon(made.tail.run)
        yield made
        nursery.cancel_scope.cancel()


async def test_what_is_committed_is_published_in_order(autojump_clock: object) -> None:
    async with followed() as made:
        for level in range(5):
            await made.log.write([feature(level)])
        await trio.sleep(2)
        assert made.tail.caught_up.is_set()
        assert made.levels == list(range(5))
        await made.log.write([feature(5), feature(6)])
        await trio.sleep(1)
        assert made.levels == list(range(7))
        offsets = [each.offset for each in made.published]
        assert offsets == sorted(set(offsets))


async def test_another_leader_is_followed(autojump_clock: object) -> None:
    async with followed() as made:
        await made.log.write([feature(1)])
        made.log.append([feature(2)])  # never committed
        await trio.sleep(2)
        made.log.fail_over()
        await made.log.write([feature(3)])
        await trio.sleep(2)
        assert made.levels == [1, 3]
        assert made.observer.leader_epoch == 2


async def test_a_controller_that_is_gone_is_looked_for(
    autojump_clock: object, caplog: pytest.LogCaptureFixture
) -> None:
    async with followed() as made:
        await made.log.write([feature(1)])
        await trio.sleep(2)
        made.network.stop(PORT)
        await trio.sleep(10)
        assert made.observer.leader_address is None
        lines = [each.getMessage() for each in caplog.records]
        assert len(lines) < 10  # one for each new trouble, not one for each attempt
        made.network.serve(PORT, made.serve)
        await made.log.write([feature(2)])
        await trio.sleep(5)
        assert made.levels == [1, 2]
        assert made.tail.failure is None


async def test_a_leader_that_the_config_does_not_name_is_found_again(
    autojump_clock: object,
) -> None:
    async with followed() as made:
        elsewhere = made.log.port = PORT + 1
        made.network.serve(elsewhere, made.serve)
        await made.log.write([feature(1)])
        await trio.sleep(2)
        made.network.stop(PORT)  # it told who leads, and is needed no more
        made.network.stop(elsewhere)
        await trio.sleep(10)
        assert made.observer.leader_address is None
        made.network.serve(elsewhere, made.serve)
        await made.log.write([feature(2)])
        await trio.sleep(5)
        assert made.levels == [1, 2]


async def test_a_quorum_of_another_cluster_is_a_failure_and_asked_again(
    autojump_clock: object,
) -> None:
    async with followed() as made:
        made.refusal = ErrorCode.INCONSISTENT_CLUSTER_ID
        with trio.fail_after(10):
            await made.tail.has_failed.wait()
        assert made.tail.failure is not None
        assert "not of cluster cluster" in made.tail.failure
        assert not made.tail.caught_up.is_set()
        made.refusal = ErrorCode.NONE
        await made.log.write([feature(1)])
        with trio.fail_after(20):
            await made.tail.caught_up.wait()
        assert made.levels == [1]
