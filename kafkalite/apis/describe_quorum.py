"""DescribeQuorum (key 55), versions 0-2: the voters of the metadata log (KIP-595, KIP-642).

Every node of this process is a voter, registered or not; the first one leads. All have everything,
as they share the log; of one that is stopped nothing is known, as if it had never fetched. v1: when
each was last caught up; v2: directory ids, and where the voters are (KIP-853).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, in_slices, mapped, mapped_in_steps
from kafkalite.requests.topic_names import METADATA_TOPIC
from kafkalite.wire.error_messages import default_message
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionData,
    PartitionDataRequest,
    ReplicaState,
    TopicData,
    TopicDataRequest,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_NODES_SINCE: Final = 2
_UNKNOWN: Final = -1


async def handle(
    services: Services, context: RequestContext, request: DescribeQuorumRequest
) -> DescribeQuorumResponse:
    if _is_of_metadata(request):
        topic = TopicData(topic_name=METADATA_TOPIC, partitions=[_quorum(services)])
        nodes = _nodes(services) if context.api_version >= _NODES_SINCE else []
        return DescribeQuorumResponse(topics=[topic], nodes=nodes)
    # Anything but that one partition, alone, is unknown (KafkaRaftClient.handleDescribeQuorum).
    topics = await in_slices(mapped_in_steps(_unknown_topic, request.topics), context)
    return DescribeQuorumResponse(topics=topics)


def _is_of_metadata(request: DescribeQuorumRequest) -> bool:
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        return False
    (topic,) = request.topics
    return topic.topic_name == METADATA_TOPIC and topic.partitions[0].partition_index == 0


def _unknown_topic(asked: TopicDataRequest) -> Steps[TopicData]:
    partitions = yield from mapped(_unknown, asked.partitions)
    return TopicData(topic_name=asked.topic_name, partitions=partitions)


def _unknown(asked: PartitionDataRequest) -> PartitionData:
    return PartitionData(
        partition_index=asked.partition_index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message=default_message(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    )


def _nodes(services: Services) -> list[Node]:
    return [
        Node(
            node_id=node.id,
            listeners=[
                Listener(name=name, host=endpoint.host, port=endpoint.port)
                for name, endpoint in node.endpoints.items()
            ],
        )
        for node in services.cluster.nodes.values()
    ]


def _quorum(services: Services) -> PartitionData:
    cluster = services.cluster
    now_ms = services.now_ms()
    end_offset = cluster.epoch + 1
    stopped = cluster.image.brokers.keys() - cluster.nodes.keys()
    return PartitionData(
        partition_index=0,
        error_code=ErrorCode.NONE,
        leader_id=cluster.controller_id,
        leader_epoch=cluster.leader_epoch,
        high_watermark=end_offset,
        current_voters=[
            ReplicaState(
                replica_id=node_id,
                log_end_offset=_UNKNOWN if node_id in stopped else end_offset,
                last_fetch_timestamp=_UNKNOWN if node_id in stopped else now_ms,
                last_caught_up_timestamp=_UNKNOWN if node_id in stopped else now_ms,
            )
            for node_id in sorted(cluster.voters)
        ],
    )
