"""Each API answers a sound request in each of its versions.

A response that names a field which its version does not have would close the connection.
"""

from __future__ import annotations

import pytest
import trio

from conformance.security.requests import requests
from kafkalite.apis import APIS
from kafkalite.testing import broker
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import InvalidMessage
from kafkalite.wire.messages.create_delegation_token import CreateDelegationTokenRequest
from kafkalite.wire.messages.find_coordinator import FindCoordinatorRequest
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.schema import message_of
from tests.kafkalite.security.secured import WITH_ACLS, Users

WITH_TOKENS = {**WITH_ACLS, "delegation.token.secret.key": "key"}
# Some versions of these are asked by tests of their own: they need another body, or a login.
ASKED_ELSEWHERE = {
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LEAVE_GROUP,
    ApiKey.SASL_AUTHENTICATE,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.UPDATE_FEATURES,
}
SHARE_KEY = f"group:{'A' * 22}:0"
TOPICS = ("open-topic", "shut-topic")


@pytest.mark.slow
async def test_each_api_answers_in_each_version() -> None:
    answered: set[tuple[int, int]] = set()
    async with broker(WITH_TOKENS) as running, Users(running) as users:
        for name in TOPICS:
            running.create_topic(name, partitions=1)
        everything = await (await users.user("root")).ask(MetadataRequest(topics=None))
        ids = {topic.name: topic.topic_id for topic in everything.topics}
        alice = await users.user("alice")
        # Creates __share_group_state in slices. The first need of it would, in one turn.
        await alice.ask(FindCoordinatorRequest(key_type=2, coordinator_keys=[SHARE_KEY]))
        await alice.ask(CreateDelegationTokenRequest(renewers=[], max_lifetime_ms=-1))
        for request, _ in requests(ids).values():
            api = APIS[message_of(type(request)).key]
            for version in range(api.min_version, api.max_version + 1):
                root = await users.user("root")
                with trio.fail_after(10):
                    try:
                        await root.ask(request, version)
                    except InvalidMessage:
                        continue  # the request has a field that the version does not
                answered.add((api.key, version))
    versions = [
        (api.key, version)
        for api in APIS.values()
        for version in range(api.min_version, api.max_version + 1)
    ]
    assert {ApiKey(key) for key, _ in set(versions) - answered} == ASKED_ELSEWHERE
