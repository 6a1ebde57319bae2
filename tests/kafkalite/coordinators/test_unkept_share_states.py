"""Share states that are kept nowhere: a group goes on only as long as it is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from kafkalite.config.choices import STATES_NOWHERE
from kafkalite.coordinators.share_adapter import ShareServices
from kafkalite.coordinators.share_persister import SharePersister
from kafkalite.coordinators.unkept_share_states import UnkeptShareStates
from kafkalite.replica.share.share_partition import StateUpdate
from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from tests.kafkalite.one_share_group import GROUP, OneShareGroup, one_share_group

NOWHERE = {"group.share.persister.class.name": STATES_NOWHERE[0]}
EARLIEST = {"share.auto.offset.reset": "earliest"}


@pytest.fixture(params=STATES_NOWHERE)
def group(request: pytest.FixtureRequest) -> Iterator[OneShareGroup]:
    configs = {"group_share_persister_class_name": request.param}
    with one_share_group(initialized=False, **configs) as made:
        made.services.cluster.image.configs[32, GROUP] = EARLIEST
        yield made


def test_what_was_written_is_forgotten_with_the_share_partition(group: OneShareGroup) -> None:
    group.append(b"a", b"b")
    share = group.share.partitions.open(group.key(), group.partition())
    share.write(StateUpdate(2, 0, []))
    group.share.partitions.drop(group.key())
    again = group.share.partitions.open(group.key(), group.partition())
    assert (again.start_offset, list(again.batches)) == (0, [])


def test_nobody_makes_the_topic_of_states(group: OneShareGroup) -> None:
    group.share.partitions.open(group.key(), group.partition())
    context: Any = None
    assert group.share.when_ready(context, ["t"], lambda: "at once") == "at once"
    assert group.services.topics.get("__share_group_state") is None


def test_there_is_no_state_to_tell() -> None:
    states = UnkeptShareStates()
    where = (GROUP, UUID(int=1), 0)
    states.initialize_state(*where, 3, 5)
    assert states.describe_state(*where) == (-1, -1, 0)
    states.delete_state(*where)
    with pytest.raises(KafkaError) as refused:
        states.latest_offset(UUID(int=1), 0)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_among_several_processes_no_other_is_asked(group: OneShareGroup) -> None:
    services = group.services
    nothing: Any = None
    persister = SharePersister(nothing, nothing)
    share = ShareServices(
        services.config,
        services.cluster,
        services.topics,
        group.share._clock,
        persister=persister,
    )
    assert share.persister is None
    assert share.keeper.seen_here is not None
    assert share.partitions.open(group.key(), group.partition()).start_offset == 0


async def test_the_offsets_of_a_group_are_set_to_no_effect(tmp_path: Path, connect: Any) -> None:
    async with test_broker(NOWHERE | {"log.dirs": str(tmp_path)}) as broker:
        broker.create_topic("t", 1)
        client = await connect(broker)
        await client.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[GROUP]))
        partition = AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=7)
        altered = await client.ask(
            AlterShareGroupOffsetsRequest(
                GROUP, [AlterShareGroupOffsetsRequestTopic("t", [partition])]
            )
        )
        assert altered.responses[0].partitions[0].error_code == ErrorCode.NONE
        described = await client.ask(
            DescribeShareGroupOffsetsRequest(
                [DescribeShareGroupOffsetsRequestGroup(GROUP, topics=None)]
            )
        )
        (found,) = described.groups[0].topics[0].partitions
        assert (found.error_code, found.start_offset, found.lag, found.leader_epoch) == (
            *(ErrorCode.NONE, -1),
            *(-1, 0),
        )
        deleted = await client.ask(DeleteGroupsRequest([GROUP]))
        assert deleted.results[0].error_code == ErrorCode.NONE
        assert broker._running.services.topics.get("__share_group_state") is None
