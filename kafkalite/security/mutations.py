"""Requests that change topics cost tokens, one per partition (KIP-599).

Each topic is paid for when all else that may be wrong with it has been checked. A strict request is
refused topic by topic once the tokens are spent; a permissive one, of a version whose clients do
not know the error, overdraws, and its client waits. Source: Kafka's StrictControllerMutationQuota,
PermissiveControllerMutationQuota, ReplicationControlManager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kafkalite.security.quotas import ClientQuota
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError

# The first versions that know the error.
STRICT_SINCE: Final[Mapping[ApiKey, int]] = {
    ApiKey.CREATE_TOPICS: 6,
    ApiKey.DELETE_TOPICS: 5,
    ApiKey.CREATE_PARTITIONS: 3,
}


class MutationQuota:
    """The quota of one request."""

    def __init__(
        self,
        quota: ClientQuota,
        user: str,
        client_id: str,
        now_ms: Callable[[], int],
        *,
        is_strict: bool,
    ) -> None:
        self._quota = quota
        self._user = user
        self._client_id = client_id
        self._now_ms = now_ms
        self._is_strict = is_strict
        self._short_until_ms = 0

    @property
    def wait_ms(self) -> int:
        """The time that the client has to wait: what is left of the last one that was found."""
        return max(self._short_until_ms - self._now_ms(), 0)

    def charge(self, partitions: int) -> None:
        """Take tokens. Raises KafkaError(THROTTLING_QUOTA_EXCEEDED): there are none."""
        now_ms = self._now_ms()
        if self._is_strict and self._is_short(now_ms):
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        self._quota.take_tokens(self._user, self._client_id, partitions, now_ms)
        if not self._is_strict:
            self._is_short(now_ms)

    def _is_short(self, now_ms: int) -> bool:
        short_ms = self._quota.tokens_short_ms(self._user, self._client_id, now_ms)
        if short_ms is None:
            return False
        self._short_until_ms = now_ms + short_ms
        return True
