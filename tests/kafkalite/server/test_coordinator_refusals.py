"""Each API says in each version that its answer could not be given."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from trio.testing import MockClock

from kafkalite.apis import APIS
from kafkalite.server.coordinator_refusals import GUARDS
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from kafkalite.wire.schema import FIELDS, fields_of
from tests.kafkalite.server.coordinating import (
    ADD_MANY,
    FETCH,
    INIT,
    INITIALIZE,
    OF_STATES,
    OF_TRANSACTIONS,
    REQUESTS,
    Coordinating,
    committed,
    coordinating_in,
)


@pytest.fixture
async def coordinating(tmp_path: Path) -> AsyncIterator[Coordinating]:
    async with coordinating_in(tmp_path) as made:
        yield made


def codes_in(answer: Any) -> set[int]:
    """All error codes of a message."""
    found: set[int] = set()
    for field in fields_of(type(answer)):
        value = getattr(answer, field.name)
        if field.name in ("error_code", "partition_error_code"):
            found.add(value)
        for each in value if isinstance(value, list) else ():
            if hasattr(type(each), FIELDS):
                found |= codes_in(each)
    return found


def versions(key: ApiKey) -> range:
    return range(APIS[key].min_version, APIS[key].max_version + 1)


@pytest.mark.parametrize(
    ("key", "version"), [(key, version) for key in REQUESTS for version in versions(key)]
)
async def test_each_api_says_so_in_each_version(
    autojump_clock: MockClock, coordinating: Coordinating, key: ApiKey, version: int
) -> None:
    await committed(coordinating)
    answer = await coordinating.ask(key, version, REQUESTS[key])
    assert ErrorCode.COORDINATOR_NOT_AVAILABLE in codes_in(answer)


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH))
async def test_offsets_are_refused_in_each_version(
    autojump_clock: MockClock, coordinating: Coordinating, version: int
) -> None:
    await committed(coordinating)
    request = OffsetFetchRequest(
        group_id="g", topics=[OffsetFetchRequestTopic(name="read", partition_indexes=[0])]
    )
    answer = await coordinating.ask(
        ApiKey.OFFSET_FETCH, version, FETCH if version >= 8 else request
    )
    assert ErrorCode.NOT_COORDINATOR in codes_in(answer)
    assert b"7" not in repr(answer).encode()


@pytest.mark.parametrize(
    ("key", "version"), [(key, version) for key in OF_TRANSACTIONS for version in versions(key)]
)
async def test_each_api_of_transactions_says_so_in_each_version(
    autojump_clock: MockClock, coordinating: Coordinating, key: ApiKey, version: int
) -> None:
    """Also in the place of an answer that is an error: that rests on what is written, too."""
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await coordinating.ask(ApiKey.INIT_PRODUCER_ID, 5, INIT)).error_code == unavailable
    is_batch = key is ApiKey.ADD_PARTITIONS_TO_TXN and version >= 4
    request = ADD_MANY if is_batch else OF_TRANSACTIONS[key]
    assert codes_in(await coordinating.ask(key, version, request)) <= {unavailable, 0}
    assert unavailable in codes_in(await coordinating.ask(key, version, request))


@pytest.mark.parametrize(
    ("key", "version"), [(key, version) for key in OF_STATES for version in versions(key)]
)
async def test_each_api_of_share_states_says_so_in_each_version(
    autojump_clock: MockClock, coordinating: Coordinating, key: ApiKey, version: int
) -> None:
    """Also one that only tells what there is, and nothing of that is told."""
    unavailable = ErrorCode.COORDINATOR_NOT_AVAILABLE
    for asked in (ApiKey.INITIALIZE_SHARE_GROUP_STATE, key):
        at_version = version if asked is key else 0
        answer = await coordinating.ask(asked, at_version, OF_STATES[asked])
        assert codes_in(answer) == {unavailable}
        assert "start_offset=7" not in repr(answer)


async def test_a_share_state_that_is_replicated_is_told(
    autojump_clock: MockClock, coordinating: Coordinating
) -> None:
    await coordinating.ask(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, INITIALIZE)
    coordinating.copy("__share_group_state")
    key = ApiKey.READ_SHARE_GROUP_STATE_SUMMARY
    answer = await coordinating.ask(key, 1, OF_STATES[key])
    assert codes_in(answer) == {ErrorCode.NONE}
    assert answer.results[0].partitions[0].start_offset == 7


def test_no_api_of_coordinators_is_forgotten() -> None:
    assert set(GUARDS) == {
        *(*REQUESTS, ApiKey.OFFSET_FETCH, ApiKey.TXN_OFFSET_COMMIT),
        *OF_TRANSACTIONS,
        *OF_STATES,
    }
