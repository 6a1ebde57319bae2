"""Very many refusals do not keep others waiting, either: rules of authorization go in steps."""

from __future__ import annotations

import pytest
import trio

from kafkalite.apis import APIS
from kafkalite.testing import broker as test_broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from tests.kafkalite.many_elements import PARTITIONS, TOPIC, Filling, paths
from tests.kafkalite.server.test_huge_requests import (
    FREQUENT,
    MOST_SECONDS,
    ask,
    watched,
)

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
COUNT = 10_000


async def check_each_list(key: ApiKey, *, may: bool) -> None:
    """Ask for very many things, all of which may be done, or none."""
    version = APIS[key].max_version
    config = {
        "authorizer.class.name": AUTHORIZER,
        "allow.everyone.if.no.acl.found": "true" if may else "false",
    }
    async with test_broker(config) as b:
        await b.asynchronous.create_topic(TOPIC, partitions=PARTITIONS)
        topic = b._running.services.topics.get(TOPIC)
        assert topic is not None
        for path in paths(request_class(key), version):
            small = Filling(version, 1, topic.topic_id, known=True).frame(key, path)
            large = Filling(version, COUNT, topic.topic_id, known=True).frame(key, path)
            await ask(b, small)  # imports what is needed
            async with watched() as holds:
                with trio.move_on_after(60):  # the answer of one that waits for others
                    await ask(b, large)
            assert max(holds) < MOST_SECONDS, path


def with_lists() -> list[ApiKey]:
    """The APIs that take lists."""
    return [key for key, api in APIS.items() if any(paths(request_class(key), api.max_version))]


@pytest.mark.slow
@pytest.mark.parametrize("key", with_lists(), ids=lambda key: key.name)
async def test_very_many_that_are_refused(key: ApiKey) -> None:
    await check_each_list(key, may=False)


@pytest.mark.slow
@pytest.mark.parametrize("key", FREQUENT, ids=lambda key: key.name)
async def test_very_many_that_are_allowed(key: ApiKey) -> None:
    await check_each_list(key, may=True)
