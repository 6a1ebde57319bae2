"""Tokens for partitions: who is refused and who only waits (KIP-599)."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from kafkalite.security.mutations import STRICT_SINCE, MutationQuota
from kafkalite.security.quotas import CONTROLLER_MUTATION_RATE
from kafkalite.security.rates import Window
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.security.in_force import OneQuota

# With one token per second the bucket holds ten.
WINDOW = Window(10, 1000)


@dataclass
class Clock:
    """Milliseconds."""

    now_ms: int = 10**9

    def __call__(self) -> int:
        return self.now_ms


def asked(
    *, is_strict: bool, rate: float = 1.0, clock: Clock | None = None
) -> tuple[MutationQuota, Clock]:
    clock = clock or Clock()
    quota = OneQuota(CONTROLLER_MUTATION_RATE, WINDOW)
    quota.replace({(("user", "alice"),): {CONTROLLER_MUTATION_RATE: rate}})
    return MutationQuota(quota, "alice", "app", clock, is_strict=is_strict), clock


def is_refused(quota: MutationQuota, partitions: int) -> bool:
    try:
        quota.charge(partitions)
    except KafkaError as error:
        return (error.code, error.message) == (ErrorCode.THROTTLING_QUOTA_EXCEEDED, None)
    return False


def test_a_strict_request_is_refused_from_where_the_tokens_are_spent() -> None:
    """The last that is done may overdraw."""
    quota, _ = asked(is_strict=True)
    assert [is_refused(quota, count) for count in (8, 8, 1, 1)] == [False, False, True, True]
    assert quota.wait_ms == 6000


def test_a_permissive_request_overdraws_and_waits() -> None:
    quota, _ = asked(is_strict=False)
    assert [is_refused(quota, count) for count in (8, 8, 1)] == [False] * 3
    assert quota.wait_ms == 7000


def test_within_the_quota_nobody_waits() -> None:
    quota, _ = asked(is_strict=True)
    assert not is_refused(quota, 8)
    assert quota.wait_ms == 0


def test_the_time_that_the_request_took_is_waited_for_already() -> None:
    quota, clock = asked(is_strict=False)
    quota.charge(16)
    clock.now_ms += 4_000
    assert quota.wait_ms == 2_000
    clock.now_ms += 4_000
    assert quota.wait_ms == 0


@pytest.mark.parametrize("is_strict", [True, False])
def test_a_wait_that_no_int_can_tell_is_none_though_it_refuses(is_strict: bool) -> None:
    quota, _ = asked(is_strict=is_strict, rate=5e-324)
    assert not is_refused(quota, 1)
    assert is_refused(quota, 1) == is_strict
    assert quota.wait_ms == 0


def test_versions_that_know_the_error_are_strict() -> None:
    assert STRICT_SINCE == {
        ApiKey.CREATE_TOPICS: 6,
        ApiKey.DELETE_TOPICS: 5,
        ApiKey.CREATE_PARTITIONS: 3,
    }
