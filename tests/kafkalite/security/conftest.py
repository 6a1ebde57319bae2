"""A broker with ACLs, and connections of its users."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.kafkalite.security.secured import Users, users_of_acls
from tests.kafkalite.security.token_provider import provider

__all__ = ["provider", "users"]


@pytest.fixture
async def users() -> AsyncIterator[Users]:
    async with users_of_acls() as users:
        yield users
