"""AlterReplicaLogDirs (key 34), versions 1-2, flexible since 2.

Moves replicas between the log directories of a broker (KIP-113).

    1  answered first and throttled by the client afterwards (KIP-219)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int16, int32, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class AlterReplicaLogDirTopic:
    name: str = field(string)
    partitions: list[int] = array(int32)


@struct
class AlterReplicaLogDir:
    path: str = field(string)
    topics: list[AlterReplicaLogDirTopic] = array(AlterReplicaLogDirTopic)


@request(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2), flexible=2)
class AlterReplicaLogDirsRequest:
    dirs: list[AlterReplicaLogDir] = array(AlterReplicaLogDir)


@struct
class AlterReplicaLogDirPartitionResult:
    partition_index: int = field(int32)
    error_code: int = field(int16)


@struct
class AlterReplicaLogDirTopicResult:
    topic_name: str = field(string)
    partitions: list[AlterReplicaLogDirPartitionResult] = array(AlterReplicaLogDirPartitionResult)


@response(ApiKey.ALTER_REPLICA_LOG_DIRS, versions=(1, 2), flexible=2)
class AlterReplicaLogDirsResponse:
    throttle_time_ms: int = field(int32)
    results: list[AlterReplicaLogDirTopicResult] = array(AlterReplicaLogDirTopicResult)
