"""ElectLeaders (key 43), versions 0-2: have the preferred replica lead, or any (KIP-183, KIP-460).

v0 knows the preferred election only. `topic_partitions` null means all partitions, and then those
that need no election are left out of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.image import NO_LEADER
from kafkalite.cluster.leadership import elect_preferred, elect_unclean
from kafkalite.requests.context import RequestContext
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from kafkalite.services import Services
    from kafkalite.wire.messages.stored.partition_change_record import PartitionChangeRecord

_PREFERRED: Final = 0
_UNCLEAN: Final = 1


def handle(
    services: Services, context: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    if request.topic_partitions == []:
        return ElectLeadersResponse(error_code=ErrorCode.NONE)  # of whatever type
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        return _unknown_type(request)
    response = ElectLeadersResponse(error_code=ErrorCode.NONE)
    records: list[object] = []
    for name, indexes in _asked(services, request):
        result = ReplicaElectionResult(topic=name)
        response.replica_election_results.append(result)
        for index in indexes:
            code, message = ErrorCode.NONE, None
            try:
                records.append(_elect(services, name, index, request.election_type))
            except KafkaError as error:
                code, message = error.code, error.message
            if request.topic_partitions is not None or code != ErrorCode.ELECTION_NOT_NEEDED:
                result.partition_result.append(
                    PartitionResult(partition_id=index, error_code=code, error_message=message)
                )
    services.cluster.begin_write(records)
    return response


def _unknown_type(request: ElectLeadersRequest) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        error_code=ErrorCode.INVALID_REQUEST,
        replica_election_results=[
            ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[
                    PartitionResult(
                        partition_id=index,
                        error_code=ErrorCode.INVALID_REQUEST,
                        error_message=f"Unknown election type {request.election_type}",
                    )
                    for index in asked.partitions
                ],
            )
            for asked in request.topic_partitions or ()
        ],
    )


def _asked(services: Services, request: ElectLeadersRequest) -> Iterable[tuple[str, Iterable[int]]]:
    if request.topic_partitions is None:
        return [(topic.name, range(len(topic.states))) for topic in services.topics.all()]
    return [(asked.topic, asked.partitions) for asked in request.topic_partitions]


def _elect(services: Services, name: str, index: int, election_type: int) -> PartitionChangeRecord:
    """The record of an election. Raises KafkaError."""
    topic = services.topics.get(name)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is None:
        raise KafkaError(unknown, f"No such topic as {name}")
    if not 0 <= index < len(topic.states):
        raise KafkaError(unknown, f"No such partition as {name}-{index}")
    state, alive = topic.states[index], services.cluster.alive
    wanted = state.leader_id == state.replicas[0]
    if election_type == _UNCLEAN:
        wanted = state.leader_id != NO_LEADER
    if wanted:
        raise KafkaError(
            ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        )
    if election_type == _UNCLEAN:
        record = elect_unclean(topic.topic_id, index, state, alive)
        failed = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
        message = "Eligible topic partition leaders are not available."
    else:
        record = elect_preferred(topic.topic_id, index, state, alive)
        failed = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
        message = "The preferred leader was not available."
    if record is None:
        raise KafkaError(failed, message)
    return record
