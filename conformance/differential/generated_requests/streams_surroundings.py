"""Surroundings of a streams group in a story: its topics grow, go and come back, and it gets
requests of other kinds of groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from conformance.differential.generated_requests.streams_world import Step, Streams
from conformance.differential.generated_requests.vocabulary import SESSION_MS, of
from conformance.differential.test_topics import growing
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.delete_topics import DeleteTopicsRequest
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest
from kafkalite.wire.messages.heartbeat import HeartbeatRequest
from kafkalite.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from kafkalite.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from kafkalite.wire.messages.list_groups import ListGroupsRequest
from kafkalite.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.sync_group import SyncGroupRequest

# By what their names have behind the story's. That of states comes back by itself.
SOURCES = of("", "-other")
TOPICS = of("", "-other", "-store", "-between")
FOREIGN = of(
    *("join", "sync", "heartbeat", "leave", "consumer", "share", "describe as classic"),
    *("describe as consumers", "delete", "forget", "list"),
)


@dataclass(frozen=True)
class Grow(Step):
    """A topic has more partitions than before."""

    suffix: str

    def tell(self, streams: Streams) -> None:
        name = streams.name + self.suffix
        count = streams.counts.get(name, 0) + 1
        if count > 1 and not streams.has_endpoints:
            streams.has_changed_topics = True
            streams.pair.ask(ApiKey.CREATE_PARTITIONS, 3, growing(name, count))
            streams.pair.settle()
            streams.counts[name] = count


@dataclass(frozen=True)
class DeleteTopic(Step):
    """A topic is deleted, or comes back if it was."""

    suffix: str

    def tell(self, streams: Streams) -> None:
        name = streams.name + self.suffix
        if streams.has_endpoints:
            return
        streams.has_changed_topics = True
        if name in streams.counts:
            request = DeleteTopicsRequest(topic_names=[name], timeout_ms=5000)
            streams.pair.ask(ApiKey.DELETE_TOPICS, 5, request)
            streams.pair.settle()
            del streams.counts[name]
        else:
            streams.make(name)


@dataclass(frozen=True)
class Foreign(Step):
    """A request that is not for a group of this kind, or for one of any kind."""

    which: str
    member: str

    def tell(self, streams: Streams) -> None:
        pair = streams.pair
        api, version, request = self.request(streams)
        for side in pair.sides:
            side.names.prefix = streams.name
        try:
            pair.ask(api, version, request)
        finally:
            for side in pair.sides:
                side.names.prefix = ""
        if api is ApiKey.JOIN_GROUP:
            self.wait_until_seen(streams)

    def wait_until_seen(self, streams: Streams) -> None:
        """Apache Kafka answers a first JoinGroup before all replicas have the group's record."""
        described = DescribeGroupsRequest(groups=[streams.name])
        for side in streams.pair.sides:
            side.until(
                ApiKey.DESCRIBE_GROUPS,
                6,
                described,
                lambda answer: "not found" not in (answer.groups[0].error_message or ""),
                side.routes.get(ApiKey.DESCRIBE_GROUPS, 1),
            )

    def request(self, streams: Streams) -> tuple[ApiKey, int, Any]:
        group, member, topic = streams.name, self.member, streams.name
        epoch = streams.workers[member].epoch
        match self.which:
            case "join":
                protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
                return (
                    ApiKey.JOIN_GROUP,
                    9,
                    JoinGroupRequest(
                        group_id=group,
                        session_timeout_ms=SESSION_MS,
                        protocol_type="consumer",
                        protocols=protocols,
                    ),
                )
            case "sync":
                return ApiKey.SYNC_GROUP, 5, SyncGroupRequest(group, epoch, member)
            case "heartbeat":
                return ApiKey.HEARTBEAT, 4, HeartbeatRequest(group, epoch, member)
            case "leave":
                leaving = [MemberIdentity(member_id=member)]
                return ApiKey.LEAVE_GROUP, 5, LeaveGroupRequest(group, members=leaving)
            case "consumer":
                return (
                    ApiKey.CONSUMER_GROUP_HEARTBEAT,
                    1,
                    ConsumerGroupHeartbeatRequest(
                        group_id=group,
                        member_id=member,
                        rebalance_timeout_ms=1000,
                        subscribed_topic_names=[topic],
                        topic_partitions=[],
                    ),
                )
            case "share":
                return (
                    ApiKey.SHARE_GROUP_HEARTBEAT,
                    1,
                    ShareGroupHeartbeatRequest(
                        group_id=group, member_id=member, subscribed_topic_names=[f"{topic}-none"]
                    ),
                )
            case "describe as classic":
                return ApiKey.DESCRIBE_GROUPS, 6, DescribeGroupsRequest(groups=[group])
            case "describe as consumers":
                request = ConsumerGroupDescribeRequest(group_ids=[group])
                return ApiKey.CONSUMER_GROUP_DESCRIBE, 1, request
            case "delete":
                return ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group])
            case "forget":
                partitions = [OffsetDeleteRequestPartition(0), OffsetDeleteRequestPartition(1)]
                topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions)]
                return ApiKey.OFFSET_DELETE, 0, OffsetDeleteRequest(group, topics)
            case _:
                return ApiKey.LIST_GROUPS, 5, ListGroupsRequest(types_filter=["streams"])
