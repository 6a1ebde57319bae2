"""Quotas and SCRAM credentials survive a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kafkalite.testing import broker as test_broker
from tests.kafkalite.quotas_and_credentials import alter, change, described, upsert, users


async def test_quotas_and_credentials_are_there_after_a_restart(
    tmp_path: Path, connect: Any
) -> None:
    async with test_broker(data_dir=tmp_path) as b:
        client = await connect(b)
        await alter(client, {"user": "u"}, producer_byte_rate=5.0, request_percentage=0.5)
        await alter(client, {"user": "u"}, request_percentage=None)
        assert await change(client, upsert("u"), upsert("v", 2)) == {"u": 0, "v": 0}
        assert await change(client, gone={"v": 2}) == {"v": 0}
    async with test_broker(data_dir=tmp_path) as b:
        client = await connect(b)
        assert await described(client) == [({"user": "u"}, {"producer_byte_rate": 5.0})]
        assert await users(client) == {"u": [(1, 4096)]}
