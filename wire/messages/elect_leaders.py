"""ElectLeaders (key 43), versions 0-2, flexible since 2.

Elects the preferred leader of partitions (KIP-183).

    1  unclean elections too; an error of the whole (KIP-460)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class TopicPartitions:
    topic: str = field(string)
    partitions: list[int] = array(int32)


@request(ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2)
class ElectLeadersRequest:
    election_type: int = field(int8, since=1)
    topic_partitions: list[TopicPartitions] | None = nullable_array(TopicPartitions, default=[])
    timeout_ms: int = field(int32, default=60000)


@struct
class PartitionResult:
    partition_id: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")


@struct
class ReplicaElectionResult:
    topic: str = field(string)
    partition_result: list[PartitionResult] = array(PartitionResult)


@response(ApiKey.ELECT_LEADERS, versions=(0, 2), flexible=2)
class ElectLeadersResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16, since=1)
    replica_election_results: list[ReplicaElectionResult] = array(ReplicaElectionResult)
