"""AlterPartitionReassignments (key 45), versions 0-1: move partitions to other nodes (KIP-455).

`replicas` null cancels a reassignment that goes on. v1: `allow_replication_factor_change` false
refuses a target with another number of replicas (KIP-860).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafkalite.cluster.partition_decisions import with_data
from kafkalite.cluster.reassignment import begin, cancel, is_moving
from kafkalite.cluster.topic_creation import check_manual_assignment
from kafkalite.requests.context import RequestContext, check_time
from kafkalite.requests.slices import Steps, WaitingSteps, batches, in_slices
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord

Outcome = tuple[ErrorCode, str | None]
"""An error, and what is said of it."""


async def handle(
    services: Services, context: RequestContext, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    if not request.topics:
        return AlterPartitionReassignmentsResponse()
    check_time(request.timeout_ms)
    response = AlterPartitionReassignmentsResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        allow_replication_factor_change=request.allow_replication_factor_change,
    )
    await in_slices(_alter_each(services, request, response), context)
    return response


def _alter_each(
    services: Services,
    request: AlterPartitionReassignmentsRequest,
    response: AlterPartitionReassignmentsResponse,
) -> WaitingSteps[None]:
    may_change_factor = request.allow_replication_factor_change
    for some in batches(_asked(request, response)):
        outcomes: list[Outcome] = []
        yield from services.cluster.deciding(
            partial(_decided, services, some, outcomes, may_change_factor=may_change_factor)
        )
        for (told, asked), (code, message) in zip(some, outcomes, strict=True):
            told.partitions.append(
                ReassignablePartitionResponse(
                    partition_index=asked.partition_index, error_code=code, error_message=message
                )
            )
        yield None
    yield from services.cluster.catching_up()


def _decided(
    services: Services,
    some: Sequence[tuple[ReassignableTopicResponse, ReassignablePartition]],
    outcomes: list[Outcome],
    *,
    may_change_factor: bool,
) -> Steps[list[object]]:
    """The records of those that can be altered; `outcomes` says what becomes of each."""
    yield
    outcomes.clear()
    records: list[object] = []
    for told, asked in some:
        try:
            records.append(_alter(services, told.name, asked, may_change_factor))
        except KafkaError as error:
            outcomes.append((error.code, error.message))
        else:
            outcomes.append((ErrorCode.NONE, None))
    return records


def _asked(
    request: AlterPartitionReassignmentsRequest, response: AlterPartitionReassignmentsResponse
) -> Iterator[tuple[ReassignableTopicResponse, ReassignablePartition]]:
    """Each partition, with the place in the response for what came of it."""
    for topic in request.topics:
        told = ReassignableTopicResponse(name=topic.name)
        response.responses.append(told)
        for asked in topic.partitions:
            yield told, asked


def _alter(
    services: Services, name: str, asked: ReassignablePartition, may_change_factor: bool
) -> PartitionChangeRecord:
    """The record that begins or cancels a reassignment. Raises KafkaError."""
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic = services.topics.get(name)
    if topic is None:
        raise KafkaError(unknown, f"Unable to find a topic named {name}.")
    index = asked.partition_index
    if not 0 <= index < len(topic.states):
        raise KafkaError(unknown, f"Unable to find partition {name}:{index}.")
    state, cluster = topic.states[index], services.cluster
    if asked.replicas is None:
        if not is_moving(state):
            raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
        alive = with_data(cluster.image, state, cluster.alive)
        record = cancel(topic.topic_id, index, state, alive)
        if record is None:
            raise KafkaError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Unable to revert partition assignment for {name}:{index} because it would "
                "require an unclean leader election.",
            )
        return record
    reason = check_manual_assignment(asked.replicas, cluster.image.brokers, None)
    if reason is not None:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
    present = len(state.replicas) - len(state.adding_replicas)
    if not may_change_factor and len(asked.replicas) != present:
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"The replication factor is changed from {present} to {len(asked.replicas)}",
        )
    return begin(topic.topic_id, index, state, asked.replicas)
