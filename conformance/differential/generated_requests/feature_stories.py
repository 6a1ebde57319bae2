"""Stories in which features are finalized at other levels: what is answered meanwhile depends on
them.

The features are those of the whole cluster: each story begins with the highest levels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.differential.generated_requests.vocabulary import of, often
from conformance.differential.streams_requests import stateless, topology
from conformance.differential.transactional import Transactions
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from kafkalite.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kafkalite.wire.messages.share_fetch import ShareFetchRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

HIGHEST = {
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 1,
    "streams.version": 1,
    "transaction.version": 2,
}
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
BROKER_RESOURCE, SHARE_COORDINATOR = 4, 2
SET, DELETE = 0, 1
MIN_IN_SYNC = "min.insync.replicas"
ASKS = ApiVersionsRequest(client_software_name="referee", client_software_version="1")
_numbers = itertools.count(1)


@dataclass
class Features:
    """A topic, a transactional id, and groups."""

    pair: Pair
    topic: str
    groups: Iterator[int] = field(default_factory=itertools.count)

    def open(self) -> None:
        for side in self.pair.sides:
            side.forget()
            for name, level in HIGHEST.items():
                update = FeatureUpdateKey(feature=name, max_version_level=level)
                request = UpdateFeaturesRequest(feature_updates=[update])
                side.until_no_error(ApiKey.UPDATE_FEATURES, 1, request)
        self.pair.settle()
        self.pair.create_topic(self.topic, 2)
        self.producer = Transactions(self.pair, self.topic)
        self.producer.init()

    def tell(self, story: Iterable[Step]) -> None:
        """Raises Difference, with what was told so far."""
        tell_steps(story, lambda step: step.tell(self))
        for side in self.pair.sides:
            side.close()

    def levels(self) -> dict[str, int]:
        """The features that are finalized."""
        answer = self.pair.reference.ask(ApiKey.API_VERSIONS, 4, ASKS)
        return {each.name: each.max_version_level for each in answer.finalized_features}

    def see(self) -> None:
        for version in (3, 4):
            self.pair.ask(ApiKey.API_VERSIONS, version, ASKS)


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, features: Features) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Update(Step):
    feature: str
    level: int
    kind: int
    version: int
    is_checked_only: bool

    def tell(self, features: Features) -> None:
        update = FeatureUpdateKey(
            feature=self.feature, max_version_level=self.level, upgrade_type=self.kind
        )
        request = UpdateFeaturesRequest(
            feature_updates=[update], validate_only=self.is_checked_only and self.version > 0
        )
        features.pair.ask(ApiKey.UPDATE_FEATURES, self.version, request)
        features.pair.settle()
        features.see()


@dataclass(frozen=True)
class Beat(Step):
    """A member of a new group comes, is seen, and goes."""

    kind: str

    def tell(self, features: Features) -> None:
        group = f"{features.topic}-g{next(features.groups)}"
        api, version, request = self._request(features, group)
        features.pair.ask(api, version, request)
        for described, described_version, of_groups in (
            (ApiKey.CONSUMER_GROUP_DESCRIBE, 1, ConsumerGroupDescribeRequest),
            (ApiKey.SHARE_GROUP_DESCRIBE, 1, ShareGroupDescribeRequest),
            (ApiKey.STREAMS_GROUP_DESCRIBE, 0, StreamsGroupDescribeRequest),
        ):
            features.pair.ask(described, described_version, of_groups(group_ids=[group]))
        request.member_epoch = -1
        features.pair.ask(api, version, request)

    def _request(self, features: Features, group: str) -> tuple[ApiKey, int, Any]:
        common: dict[str, Any] = {"group_id": group, "member_id": "m", "member_epoch": 0}
        topics = {"subscribed_topic_names": [features.topic]}
        if self.kind == "share":
            return ApiKey.SHARE_GROUP_HEARTBEAT, 1, ShareGroupHeartbeatRequest(**common, **topics)
        common["rebalance_timeout_ms"] = 60_000
        if self.kind == "consumer":
            request = ConsumerGroupHeartbeatRequest(**common, **topics, topic_partitions=[])
            return ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request
        return (
            ApiKey.STREAMS_GROUP_HEARTBEAT,
            0,
            StreamsGroupHeartbeatRequest(
                **common,
                topology=topology(stateless(features.topic)),
                active_tasks=[],
                standby_tasks=[],
                warmup_tasks=[],
                process_id="p",
            ),
        )


@dataclass(frozen=True)
class Share(Step):
    """The coordinator of share states, and a fetch of a member."""

    def tell(self, features: Features) -> None:
        key = f"{features.topic}:{'A' * 22}:0"
        request = FindCoordinatorRequest(key_type=SHARE_COORDINATOR, coordinator_keys=[key])
        features.pair.ask(ApiKey.FIND_COORDINATOR, 6, request, retry=15)
        fetch = ShareFetchRequest(group_id=features.topic, member_id="m", max_wait_ms=10)
        features.pair.ask(ApiKey.SHARE_FETCH, 2, fetch, connection="share")


@dataclass(frozen=True)
class Transact(Step):
    """A transaction as clients of that version have it.

    Without transaction.version 2 a partition is added first: a Produce that adds one makes Apache
    Kafka refuse all that comes later for the transactional id, until it starts again.
    """

    version: int
    is_added: bool
    commit: bool

    def tell(self, features: Features) -> None:
        producer = features.producer
        for _ in range(2):
            producer.init()
            producer.state()
        is_added = self.is_added or features.levels().get("transaction.version") != 2
        if is_added:
            producer.add(3)
        producer.produce(11 if is_added else 12)
        producer.state()
        producer.end(self.version, self.commit)
        producer.state()
        producer.producers()


@dataclass(frozen=True)
class Configure(Step):
    """With eligible leader replicas the least number in sync is the whole cluster's."""

    node: str
    value: str | None

    def tell(self, features: Features) -> None:
        config = AlterableConfig(
            name=MIN_IN_SYNC,
            config_operation=DELETE if self.value is None else SET,
            value=self.value,
        )
        resource = AlterConfigsResource(
            resource_type=BROKER_RESOURCE, resource_name=self.node, configs=[config]
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        features.pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request)
        features.pair.settle()


@dataclass(frozen=True)
class See(Step):
    def tell(self, features: Features) -> None:
        features.see()
        for node in ("", "1"):
            asked = DescribeConfigsResource(BROKER_RESOURCE, node, [MIN_IN_SYNC])
            request = DescribeConfigsRequest(resources=[asked], include_synonyms=True)
            features.pair.ask(ApiKey.DESCRIBE_CONFIGS, 4, request)
        request = DescribeTopicPartitionsRequest(topics=[TopicRequest(name=features.topic)])
        features.pair.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, request)


_levels = of(0, 0, 0, 1, 1, 1, 2, 2, 3, -1)
STEPS = (
    *[
        st.builds(
            Update,
            feature=of(*HIGHEST, *HIGHEST, "kraft.version", "nonsense"),
            level=_levels,
            kind=of(UPGRADE, UPGRADE, SAFE_DOWNGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE, 0),
            version=of(0, 1, 1, 2, 2),
            is_checked_only=often(False, True),
        )
    ]
    * 4,
    st.builds(
        Update,
        feature=of("metadata.version"),
        level=of(29, 30, 31, 7, 6),
        kind=of(UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE),
        version=of(0, 1, 2),
        is_checked_only=st.booleans(),
    ),
    *[st.builds(Beat, of("consumer", "share", "streams"))] * 2,
    st.builds(Share),
    *[st.builds(Transact, of(4, 5), st.booleans(), st.booleans())] * 2,
    st.builds(Configure, of("", "1"), of("1", "2", None)),
    st.builds(See),
)
STORIES = st.lists(st.one_of(*STEPS), min_size=10, max_size=30)
