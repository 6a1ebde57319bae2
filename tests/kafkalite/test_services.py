"""Types of groups that are switched off, by a feature or by a config."""

from __future__ import annotations

from typing import Any

import pytest

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from kafkalite.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from kafkalite.wire.messages.share_group_describe import ShareGroupDescribeRequest
from kafkalite.wire.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from kafkalite.wire.messages.streams_group_describe import StreamsGroupDescribeRequest
from kafkalite.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

# Apache Kafka 4.3.1 answers the same (asked with each feature at 0).
ASKED: dict[str, tuple[Any, Any]] = {
    "consumer": (ConsumerGroupHeartbeatRequest("g", "m"), ConsumerGroupDescribeRequest(["g"])),
    "share": (ShareGroupHeartbeatRequest("g", "m"), ShareGroupDescribeRequest(["g"])),
    "streams": (StreamsGroupHeartbeatRequest("g", "m"), StreamsGroupDescribeRequest(["g"])),
}


async def refused(client: Any) -> set[str]:
    """The types whose requests are not served, all alike."""
    found: set[str] = set()
    for kind, requests in ASKED.items():
        answers = [await client.ask(each) for each in requests]
        codes = {getattr(each, "groups", [each])[0].error_code for each in answers}
        if ErrorCode.UNSUPPORTED_VERSION in codes:
            assert codes == {ErrorCode.UNSUPPORTED_VERSION}
            found.add(kind)
    return found


@pytest.mark.parametrize(
    ("feature", "kind"),
    [("group.version", "consumer"), ("share.version", "share"), ("streams.version", "streams")],
)
async def test_a_feature_that_is_not_finalized_switches_its_type_off(
    connect: Any, feature: str, kind: str
) -> None:
    async with test_broker({}) as running:
        client = await connect(running)
        assert await refused(client) == set()
        lowered = FeatureUpdateKey(feature=feature, max_version_level=0, upgrade_type=2)
        answer = await client.ask(UpdateFeaturesRequest(feature_updates=[lowered]))
        assert answer.error_code == ErrorCode.NONE
        assert await refused(client) == {kind}


@pytest.mark.parametrize(
    ("protocols", "off"),
    [
        ("classic", {"consumer", "streams"}),
        ("classic,consumer", {"streams"}),
        ("classic,streams", {"consumer"}),
        ("classic,consumer,streams", set[str]()),
    ],
)
async def test_a_protocol_that_is_not_named_is_switched_off(
    connect: Any, protocols: str, off: set[str]
) -> None:
    async with test_broker({"group.coordinator.rebalance.protocols": protocols}) as running:
        assert await refused(await connect(running)) == off
