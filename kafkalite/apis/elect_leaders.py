"""ElectLeaders (key 43), versions 0-2: have the preferred replica lead, or any (KIP-183, KIP-460).

v0 knows the preferred election only. `topic_partitions` null means all partitions, and then those
that need no election are left out of the answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.image import NO_LEADER
from kafkalite.cluster.leadership import elect_preferred, elect_unclean
from kafkalite.cluster.partition_decisions import with_data
from kafkalite.requests.context import RequestContext, check_time
from kafkalite.requests.slices import WaitingSteps, batches, in_slices
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


async def handle(
    services: Services, context: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    if request.topic_partitions == []:
        return ElectLeadersResponse(error_code=ErrorCode.NONE)  # of whatever type
    check_time(request.timeout_ms)
    code = ErrorCode.NONE
    if request.election_type not in (_PREFERRED, _UNCLEAN):
        if request.topic_partitions is None:
            return ElectLeadersResponse(error_code=ErrorCode.INVALID_REQUEST)
        code = ErrorCode.INVALID_REQUEST
    response = ElectLeadersResponse(error_code=code)
    await in_slices(_elect_each(services, request, response), context)
    return response


def _elect_each(
    services: Services, request: ElectLeadersRequest, response: ElectLeadersResponse
) -> WaitingSteps[None]:
    for some in batches(_asked(services, request, response)):
        yield from services.cluster.settling()
        records: list[object] = []
        for result, index in some:
            code, message = ErrorCode.NONE, None
            try:
                records.append(_elect(services, result.topic, index, request.election_type))
            except KafkaError as error:
                code, message = error.code, error.message
            if request.topic_partitions is not None or code != ErrorCode.ELECTION_NOT_NEEDED:
                result.partition_result.append(
                    PartitionResult(partition_id=index, error_code=code, error_message=message)
                )
        services.cluster.begin_write(records)
        yield from services.cluster.finishing()
        yield None


def _asked(
    services: Services, request: ElectLeadersRequest, response: ElectLeadersResponse
) -> Iterator[tuple[ReplicaElectionResult, int]]:
    """Each partition, with the place in the response for what came of it."""
    topics: Iterable[tuple[str, Iterable[int]]]
    if request.topic_partitions is None:
        topics = [(topic.name, range(len(topic.states))) for topic in services.topics.all()]
    else:
        topics = ((asked.topic, asked.partitions) for asked in request.topic_partitions)
    for name, indexes in topics:
        result = ReplicaElectionResult(topic=name)
        response.replica_election_results.append(result)
        for index in indexes:
            yield result, index


def _elect(services: Services, name: str, index: int, election_type: int) -> PartitionChangeRecord:
    """The record of an election. Raises KafkaError."""
    if election_type not in (_PREFERRED, _UNCLEAN):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}")
    topic = services.topics.get(name)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic is None:
        raise KafkaError(unknown, f"No such topic as {name}")
    if not 0 <= index < len(topic.states):
        raise KafkaError(unknown, f"No such partition as {name}-{index}")
    state, image = topic.states[index], services.cluster.image
    alive = with_data(image, state, image.alive)
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
