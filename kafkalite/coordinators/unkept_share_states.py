"""Share states that are kept nowhere (`group.share.persister.class.name`).

Each request about a state succeeds and changes nothing, so a share partition that is opened begins
where share.auto.offset.reset says. The share coordinator's topic is not made for such a broker. The
share coordinator still answers the APIs of its own. Source: Kafka's NoOpStatePersister.
"""

from __future__ import annotations

from uuid import UUID

from kafkalite.coordinators.share_coordinator.share_state import ShareState
from kafkalite.replica.share.share_partition import SharePartitionKey, StateUpdate
from kafkalite.wire.errors import ErrorCode, KafkaError


class UnkeptShareStates:
    """The answers for leaders of share partitions and for the group coordinator."""

    # For leaders of share partitions

    def read_state(self, key: SharePartitionKey, leader_epoch: int) -> ShareState:
        """A state in which nothing is decided."""
        return ShareState()

    def write_state(
        self, key: SharePartitionKey, state_epoch: int, leader_epoch: int, update: StateUpdate
    ) -> None:
        pass

    # For the group coordinator

    def initialize_state(
        self, group_id: str, topic_id: UUID, partition: int, state_epoch: int, start_offset: int
    ) -> None:
        pass

    def delete_state(self, group_id: str, topic_id: UUID, partition: int) -> None:
        pass

    def describe_state(self, group_id: str, topic_id: UUID, partition: int) -> tuple[int, int, int]:
        """Start offset and delivery complete count: there is none; leader epoch."""
        state = ShareState()
        return state.start_offset, state.delivery_complete_count, state.leader_epoch

    def latest_offset(self, topic_id: UUID, partition: int) -> int:
        """Raises KafkaError: the end is asked only of a partition that has a state."""
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
