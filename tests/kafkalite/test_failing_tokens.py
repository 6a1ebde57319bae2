"""Delegation tokens that have ended are removed from the metadata, whose disk fails meanwhile.

Each operation that the removal makes on a healthy disk fails: the broker lives, says it once, and
removes them when the disk is there again. A token that has ended is not renewed meanwhile.
"""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Any

import pytest
import trio

from kafkalite.testing import broker as test_broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from tests.kafkalite.delegation_tokens import HOUR_MS, WITH_TOKENS, create, renew
from tests.kafkalite.security.secured import Users
from tests.kafkalite.test_failing_coordinators import MOST_LINES, Watched
from tests.kafkalite.until import until

OFTEN_CHECKED = {
    "delegation.token.expiry.check.interval.ms": "20",
    "metadata.log.max.snapshot.interval.ms": "0",
}
CONFIG = {**WITH_TOKENS, **OFTEN_CHECKED}
PREFIX = "__cluster_metadata"


def tokens(broker: test_broker) -> list[str]:
    return list(broker._running.services.cluster.image.delegation_tokens)


async def operations_of_removal(directory: Path) -> list[str]:
    async with (
        test_broker({"log.dirs": str(directory), **CONFIG}) as broker,
        Users(broker) as users,
    ):
        await create(await users.user("alice"))
        watched = Watched(broker._default.files, PREFIX)
        watched.is_on = True
        await broker.asynchronous.clock.advance("2d")
        await until(lambda: tokens(broker) == [])
        broker._default.files.set_check(None)
        return sorted(watched.made)


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC], ids=["EIO", "ENOSPC"])
async def test_the_end_of_tokens_outlives_each_of_its_operations(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, number: int
) -> None:
    operations = await operations_of_removal(tmp_path / "healthy")
    assert {"write", "sync"} <= set(operations)
    for operation in operations:
        config: dict[str, Any] = {"log.dirs": str(tmp_path / operation), **CONFIG}
        caplog.clear()
        async with test_broker(config) as broker, Users(broker) as users:
            alice = await users.user("alice")
            made = await create(alice)
            watched = Watched(broker._default.files, PREFIX)
            watched.failing, watched.error = operation, number
            watched.is_on = True
            await broker.asynchronous.clock.advance("2d")
            await until(lambda watched=watched: bool(watched.failed))
            await trio.sleep(0.2)  # what fails is tried again meanwhile
            said = [each.getMessage() for each in caplog.records if each.levelno >= logging.WARNING]
            assert 1 <= len(said) == len(set(said)) <= MOST_LINES, said
            assert tokens(broker) == [made.token_id]
            answer = await renew(alice, made.hmac, HOUR_MS)
            assert answer.error_code == ErrorCode.DELEGATION_TOKEN_EXPIRED
            watched.is_on = False
            if number == errno.ENOSPC:
                await until(lambda broker=broker: tokens(broker) == [])
            other = await users.user("bob")
            assert (await other.ask(ApiVersionsRequest(), 0)).error_code == ErrorCode.NONE
        async with test_broker(config) as broker:
            await broker.asynchronous.clock.advance("2d")
            await until(lambda broker=broker: tokens(broker) == [])
