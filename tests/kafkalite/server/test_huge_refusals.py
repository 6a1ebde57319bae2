"""Very many refusals do not keep others waiting, either: rules of authorization go in steps."""

from __future__ import annotations

import pytest

from kafkalite.apis import APIS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from tests.kafkalite.many_elements import paths
from tests.kafkalite.server.test_huge_requests import FREQUENT, check_each_list

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
COUNT = 10_000


async def check(key: ApiKey, *, may: bool) -> None:
    """Ask for very many things that there are: all may be done, or none."""
    config = {
        "authorizer.class.name": AUTHORIZER,
        "allow.everyone.if.no.acl.found": "true" if may else "false",
    }
    await check_each_list(key, APIS[key].max_version, COUNT, config, with_new_ones=False)


def with_lists() -> list[ApiKey]:
    """The APIs that take lists."""
    return [key for key, api in APIS.items() if any(paths(request_class(key), api.max_version))]


@pytest.mark.slow
@pytest.mark.parametrize("key", with_lists(), ids=lambda key: key.name)
async def test_very_many_that_are_refused(key: ApiKey) -> None:
    await check(key, may=False)


@pytest.mark.slow
@pytest.mark.parametrize("key", FREQUENT, ids=lambda key: key.name)
async def test_very_many_that_are_allowed(key: ApiKey) -> None:
    await check(key, may=True)
