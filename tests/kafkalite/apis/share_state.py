"""Requests for the stored state of share partitions, as group coordinators and leaders send them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from kafkalite.wire.messages import (
    delete_share_group_state,
    initialize_share_group_state,
    read_share_group_state,
    read_share_group_state_summary,
    write_share_group_state,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest

GROUP = "queue"


async def find_coordinator(client: Any, topic_id: UUID) -> None:
    """The first one who asks makes the topic of states."""
    key = f"{GROUP}:{'A' * 22}:0"
    await client.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[key]))


def _one(answer: Any) -> Any:
    ((partition,),) = (result.partitions for result in answer.results)
    return partition


async def initialize(
    client: Any,
    topic_id: UUID,
    *,
    partition: int = 0,
    state_epoch: int = 1,
    start_offset: int = 0,
) -> Any:
    messages = initialize_share_group_state
    asked = messages.PartitionData(partition, state_epoch, start_offset)
    topics = [messages.InitializeStateData(topic_id, [asked])]
    return _one(await client.ask(messages.InitializeShareGroupStateRequest(GROUP, topics)))


async def read(client: Any, topic_id: UUID, *, partition: int = 0, leader_epoch: int = 0) -> Any:
    messages = read_share_group_state
    asked = messages.PartitionData(partition, leader_epoch)
    topics = [messages.ReadStateData(topic_id, [asked])]
    return _one(await client.ask(messages.ReadShareGroupStateRequest(GROUP, topics)))


async def summary(
    client: Any, topic_id: UUID, *, partition: int = 0, version: int | None = None
) -> Any:
    messages = read_share_group_state_summary
    topics = [messages.ReadStateSummaryData(topic_id, [messages.PartitionData(partition, -1)])]
    request = messages.ReadShareGroupStateSummaryRequest(GROUP, topics)
    return _one(await client.ask(request, version))


async def write(
    client: Any,
    topic_id: UUID,
    *batches: tuple[int, int, int, int],
    partition: int = 0,
    state_epoch: int = 1,
    leader_epoch: int = 0,
    start_offset: int = -1,
    done: int = 0,
    version: int | None = None,
) -> Any:
    """`batches` are first and last offset, delivery state and delivery count."""
    messages = write_share_group_state
    asked = messages.PartitionData(
        partition=partition,
        state_epoch=state_epoch,
        leader_epoch=leader_epoch,
        start_offset=start_offset,
        state_batches=[messages.StateBatch(*batch) for batch in batches],
    )
    if version != 0:
        asked.delivery_complete_count = done
    topics = [messages.WriteStateData(topic_id, [asked])]
    return _one(await client.ask(messages.WriteShareGroupStateRequest(GROUP, topics), version))


async def delete(client: Any, topic_id: UUID, *, partition: int = 0) -> Any:
    messages = delete_share_group_state
    topics = [messages.DeleteStateData(topic_id, [messages.PartitionData(partition)])]
    return _one(await client.ask(messages.DeleteShareGroupStateRequest(GROUP, topics)))
