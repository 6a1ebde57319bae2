"""Groups whose changes are larger than a batch of __consumer_offsets may be."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conformance.differential import share_requests
from conformance.differential.comparison import Pair
from conformance.differential.group_requests import PROTOCOL, join, sync
from conformance.differential.streams_requests import join as join_streams
from conformance.differential.streams_requests import stateless, topology
from conformance.differential.test_alter_configs import DELETE, SET, TOPIC, altering
from conformance.differential.test_consumer_groups import beat, joining
from conformance.differential.test_group_offsets import committing
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.messages.describe_groups import DescribeGroupsRequest

# A batch needs some room beside its records: some of these are too small for that alone.
LIMITS = range(180, 540, 40)


@pytest.fixture(params=LIMITS)
def _limit(pair: Pair, request: pytest.FixtureRequest) -> Iterator[None]:
    for operation, value in ((SET, str(request.param)), (DELETE, None)):
        body = altering(TOPIC, "__consumer_offsets", ("max.message.bytes", operation, value))
        pair.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body)
        pair.settle()
        if operation == SET:
            yield


@pytest.mark.usefixtures("_limit")
def test_members_and_offsets(pair: Pair, topic: str, group: str) -> None:
    """The error stands for another one, and has no words."""
    pair.create_topic(topic)
    beat(pair, f"{group}-consumer", **joining(topic))
    share_requests.beat(pair, f"{group}-share", subscribed_topic_names=[topic])
    join_streams(pair, f"{group}-streams", "m-1", topology(stateless(topic)))
    generation = join(pair, group, 9).generation_id
    for _ in range(2):
        sync(pair, group, 5, generation, to={"a": b"x" * 150}, **PROTOCOL)
        pair.ask(ApiKey.DESCRIBE_GROUPS, 5, DescribeGroupsRequest(groups=[group]))
    request = committing(9, f"{group}-offsets", topic, 0, metadata="m" * 150)
    pair.ask(ApiKey.OFFSET_COMMIT, 9, request)
