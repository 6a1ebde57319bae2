"""Both brokers end and come back: the same epochs and offsets, and the same fetched."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.test_fetch import at, fetching, fill
from conformance.differential.test_offsets import listing, when
from conformance.differential.wait_ready import make_ready
from conformance.storage.conftest import Start
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from kafkalite.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)


@pytest.fixture
def restarting(start: Start) -> Iterator[Pair]:
    pair = Pair(Side(start("kafka")), Side(start("kafkalite")))
    for side in pair.sides:
        make_ready(side)
    yield pair
    for side in pair.sides:
        side.close()


def restart(pair: Pair, *, kill: bool) -> None:
    for side in pair.sides:
        side.close()
        if kill:
            side.broker.kill()
            side.broker.start()
        else:
            side.broker.restart()
        make_ready(side)
    pair.settle()


def look(pair: Pair) -> None:
    named = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
    pair.ask(ApiKey.METADATA, 12, named)
    pair.ask(ApiKey.FETCH, 12, fetching(12, {"t": [at(0)]}))
    for timestamp in (-1, -2, -3):
        pair.ask(ApiKey.LIST_OFFSETS, 11, listing("t", when(timestamp)))
    for epoch in range(8):
        for current in (-1, epoch):
            partition = OffsetForLeaderPartition(
                partition=0, current_leader_epoch=current, leader_epoch=epoch
            )
            topic = OffsetForLeaderTopic(topic="t", partitions=[partition])
            request = OffsetForLeaderEpochRequest(replica_id=-1, topics=[topic])
            pair.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, request)


def test_a_leader_without_others_resigns_and_is_elected(restarting: Pair) -> None:
    """Two epochs, whether it ended well or not."""
    restarting.create_topic("t")
    for kill in (False, True):
        fill(restarting, "t", 2)
        look(restarting)
        restart(restarting, kill=kill)
        look(restarting)
    fill(restarting, "t", 2)
    look(restarting)
