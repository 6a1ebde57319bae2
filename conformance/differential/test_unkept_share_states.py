"""Share groups whose states are kept nowhere: `group.share.persister.class.name`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conformance.differential.comparison import Pair
from conformance.differential.conftest import both
from conformance.differential.share_requests import (
    ACCEPT,
    RELEASE,
    Member,
    beat,
    configure,
    describe,
    offsets,
    produce,
    until_ready,
)
from conformance.differential.test_share_groups import alter, forget
from conformance.harness.broker import Broker
from kafkalite.config.choices import STATES_NOWHERE
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.delete_groups import DeleteGroupsRequest
from kafkalite.wire.messages.metadata import MetadataRequest, MetadataRequestTopic


@pytest.fixture(scope="module", params=STATES_NOWHERE, ids=["by class", "by no class"])
def _pair(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    _living: list[Broker],
) -> Iterator[Pair]:
    own = {"group.share.persister.class.name": request.param}
    directory = tmp_path_factory.mktemp("unkept")
    with both(request.config, directory, _living, own=own) as pair:
        yield pair


@pytest.fixture
def queue(pair: Pair, unique: Callable[[str], str]) -> str:
    return pair.create_topic(unique("queue"), 2)


def test_a_group_begins_anew_when_nobody_fetches(pair: Pair, group: str, queue: str) -> None:
    configure(pair, group, **{"share.auto.offset.reset": "earliest"})
    produce(pair, queue, 5, 5)
    for _ in range(2):  # not a delivery more, and nothing of what was accepted
        m = Member(pair, group, queue)
        m.fetch()
        m.say((0, 4, ACCEPT), (5, 9, RELEASE))
        m.fetch()
        m.say((5, 9, ACCEPT))
        offsets(pair, group, [(queue, [0, 1])])
        m.fetch(epoch=-1, without_topics=True)
        for side in pair.sides:
            side.close()
        pair.settle()


def test_a_group_begins_at_the_end(pair: Pair, group: str, queue: str) -> None:
    produce(pair, queue, 3)
    m = Member(pair, group, queue)
    m.fetch(max_wait_ms=100)
    produce(pair, queue, 2)
    m.fetch()


def test_offsets_are_set_and_deleted_to_no_effect(pair: Pair, group: str, queue: str) -> None:
    configure(pair, group, **{"share.auto.offset.reset": "earliest"})
    produce(pair, queue, 5)
    alter(pair, group, queue, 0, 3)
    until_ready(pair, group, queue, 1)
    offsets(pair, group, None)
    Member(pair, group, queue).fetch()
    forget(pair, group, queue)
    offsets(pair, group, None)
    pair.ask(ApiKey.DELETE_GROUPS, 2, DeleteGroupsRequest(groups_names=[group]))


def test_members_need_no_topic_of_states(pair: Pair, group: str, queue: str) -> None:
    beat(pair, group, subscribed_topic_names=[queue])
    until_ready(pair, group, queue, 2)
    offsets(pair, group, None)
    describe(pair, group)
    asked = MetadataRequest(
        topics=[MetadataRequestTopic(name="__share_group_state")], allow_auto_topic_creation=False
    )

    for side in pair.sides:
        answer = side.ask(ApiKey.METADATA, 12, asked)
        assert answer.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, side.broker.kind
