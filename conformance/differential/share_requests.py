"""Requests of share groups, sent to both sides."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from uuid import UUID

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import compare_descriptions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages import share_acknowledge, share_fetch
from kafkalite.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from kafkalite.wire.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafkalite.wire.messages.share_acknowledge import ShareAcknowledgeRequest
from kafkalite.wire.messages.share_fetch import ShareFetchRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.record_batch import Record, build_batch

ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4
GAP = 0
GROUP_RESOURCE = 32
# A fetch that renews asks for this (KIP-1222).
NOTHING = {"min_bytes": 0, "max_bytes": 0, "max_records": 0, "max_wait_ms": 0}
BEAT = ApiKey.SHARE_GROUP_HEARTBEAT


def beat(pair: Pair, group: str, member_id: str = "m-1", **fields: Any) -> Any:
    request = ShareGroupHeartbeatRequest(
        **{"group_id": group, "member_id": member_id, "member_epoch": 0} | fields
    )
    return pair.ask(BEAT, 1, request)


def describe(pair: Pair, *groups: str) -> None:
    compare_descriptions(pair, ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest, groups)


def offsets(pair: Pair, group: str, topics: list[tuple[str, list[int]]] | None) -> None:
    wanted = None
    if topics is not None:
        wanted = [
            DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=partitions)
            for name, partitions in topics
        ]
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=wanted)
    for version in (0, 1):
        request = DescribeShareGroupOffsetsRequest(groups=[asked])
        pair.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, version, request)


def until_ready(pair: Pair, group: str, topic: str, count: int) -> None:
    """Until the state of so many partitions is there, which Apache Kafka sees to by and by."""
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=[asked])
    for side in pair.sides:
        side.until(
            ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
            1,
            request,
            lambda answer: sum(len(t.partitions) for t in answer.groups[0].topics) == count,
        )


def produce(pair: Pair, topic: str, *batches: int, size: int = 10, partition: int = 0) -> None:
    """Batches of so many records, on both sides."""
    for count in batches:
        data = build_batch([Record(timestamp=1, value=b"x" * size) for _ in range(count)])
        request = ProduceRequest(
            acks=-1,
            timeout_ms=5000,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    partition_data=[PartitionProduceData(index=partition, records=data)],
                )
            ],
        )
        pair.ask(ApiKey.PRODUCE, 12, request)


def delete_records(pair: Pair, topic: str, offset: int) -> None:
    """Delete those before an offset of the first partition."""
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    deleted = DeleteRecordsTopic(name=topic, partitions=[partition])
    request = DeleteRecordsRequest(topics=[deleted], timeout_ms=5000)
    pair.ask(ApiKey.DELETE_RECORDS, 2, request)


class Member:
    """A member on both sides, with a connection of its own; `epoch` is its session's.

    `topic_id` tells the topic's id on a side. A request names one partition, or `partitions`: what
    is said is of the first. A fetch may name `forgotten` ones.
    """

    def __init__(self, pair: Pair, group: str, topic: str, name: str = "m-1") -> None:
        self.pair, self.group, self.topic, self.name = pair, group, topic, name
        self.epoch = 0
        self.topic_id: Callable[[Side], UUID] = lambda side: side.topic_id(topic)

    def fetch(self, *said: tuple[Any, ...], version: int = 2, **fields: Any) -> Any:
        """The answer, which must be the same.

        With `patience_ms` the reference is asked when the other side has answered, and may take so
        long to acquire records if that has acquired some. Else it gives up too soon on a busy
        machine.
        """
        values = {
            "max_wait_ms": 500,
            "min_bytes": 1,
            "max_bytes": 1 << 20,
            "max_records": 500,
            "batch_size": 500,
        } | fields

        def topic(side: Side, first: int, *others: int) -> Any:
            return share_fetch.FetchTopic(
                topic_id=self.topic_id(side),
                partitions=[
                    share_fetch.FetchPartition(
                        partition_index=first,
                        acknowledgement_batches=batches(share_fetch, said),
                    ),
                    *(share_fetch.FetchPartition(partition_index=each) for each in others),
                ],
            )

        return self._ask(ApiKey.SHARE_FETCH, version, ShareFetchRequest, topic, values)

    def say(self, *said: tuple[Any, ...], version: int = 2, **fields: Any) -> Any:
        def topic(side: Side, partition: int) -> Any:
            return share_acknowledge.AcknowledgeTopic(
                topic_id=self.topic_id(side),
                partitions=[
                    share_acknowledge.AcknowledgePartition(
                        partition_index=partition,
                        acknowledgement_batches=batches(share_acknowledge, said),
                    )
                ],
            )

        return self._ask(ApiKey.SHARE_ACKNOWLEDGE, version, ShareAcknowledgeRequest, topic, fields)

    def _ask(
        self,
        api: ApiKey,
        version: int,
        request: Callable[..., Any],
        topic: Callable[..., Any],
        fields: Mapping[str, Any],
    ) -> Any:
        """Ask with the session's epoch, or with another one among the fields."""
        values = {
            "group_id": self.group,
            "member_id": self.name,
            "share_session_epoch": self.epoch,
        } | fields
        self.epoch = values["share_session_epoch"] = values.pop("epoch", self.epoch)
        self.epoch += 1
        partitions = values.pop("partitions", (values.pop("partition", 0),))
        without_topics = values.pop("without_topics", False)
        forgotten = values.pop("forgotten", ())
        patience_ms = values.pop("patience_ms", 0)

        def asked(side: Side, **other: Any) -> Any:
            topics = [] if without_topics else [topic(side, *partitions)]
            made = request(**{"topics": topics} | values | other)
            if forgotten:
                gone = share_fetch.ForgottenTopic(self.topic_id(side), list(forgotten))
                made.forgotten_topics_data = [gone]
            return made

        return ask_patiently(self.pair, api, version, asked, self.name, patience_ms)


def ask_patiently(
    pair: Pair,
    api: ApiKey,
    version: int,
    asked: Callable[..., Any],
    connection: str,
    patience_ms: int,
    *,
    also_for_errors: bool = False,
) -> Any:
    """The answer, which must be the same, to what `asked(side, **fields)` makes. Member.fetch has
    what patience is; without any the sides are asked at once. Apache Kafka tells errors of a state
    only when it has asked for that, too."""
    if not patience_ms:
        return pair.ask(api, version, asked, connection=connection)[0]
    reference, tested = pair.sides
    seen = tested.ask(api, version, asked, connection)
    is_patient = has_acquired(seen) or (also_for_errors and has_errors(seen))
    patient = partial(asked, max_wait_ms=patience_ms) if is_patient else asked
    expected = reference.ask(api, version, patient, connection)
    pair.compare(f"{api.name} v{version}", expected, seen, api=api, version=version)
    return expected


def has_acquired(answer: Any) -> bool:
    """True if an answer to a fetch tells of records for its member."""
    topics = () if answer is None else answer.responses
    return any(each.acquired_records for topic in topics for each in topic.partitions)


def has_errors(answer: Any) -> bool:
    """True if an answer to a fetch tells of a partition that cannot be fetched."""
    topics = () if answer is None else answer.responses
    return any(each.error_code for topic in topics for each in topic.partitions)


def batches(messages: Any, said: tuple[tuple[Any, ...], ...]) -> list[Any]:
    return [
        messages.AcknowledgementBatch(
            first_offset=first, last_offset=last, acknowledge_types=list(types)
        )
        for first, last, *types in said
    ]


def configure(pair: Pair, group: str, **configs: str | None) -> None:
    """Set configs of a group; null deletes one."""
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=GROUP_RESOURCE,
                resource_name=group,
                configs=[
                    AlterableConfig(name=name, config_operation=int(value is None), value=value)
                    for name, value in configs.items()
                ],
            )
        ]
    )
    pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
    pair.settle()
