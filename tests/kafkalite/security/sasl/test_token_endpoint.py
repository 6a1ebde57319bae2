"""An identity provider is asked for a token, again while errors may pass."""

from __future__ import annotations

import base64

import pytest

from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.token_endpoint import Patience, TokenEndpoint
from tests.kafkalite.security.token_provider import Provider


class Clock:
    """Time that passes by waiting only."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    def now(self) -> float:
        return sum(self.waits)

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)


def fetch(provider: Provider, clock: Clock, patience: Patience | None = None) -> str:
    endpoint = TokenEndpoint(
        provider.url, "node", "se:cret", "brokers", patience or Patience(first_wait=1, longest=10)
    )
    return endpoint.fetch(clock.now, clock.sleep)


def test_what_is_asked(provider: Provider) -> None:
    clock = Clock()
    assert fetch(provider, clock).startswith("1.")
    login = base64.b64encode(b"node:se:cret").decode()
    assert provider.asked == [
        (f"Basic {login}", "grant_type=client_credentials&scope=brokers"),
    ]
    assert clock.waits == []


def test_errors_that_pass(provider: Provider) -> None:
    provider.statuses = [500, 503, 408]
    clock = Clock()
    assert fetch(provider, clock).startswith("4.")
    assert clock.waits == [1, 2, 4]


def test_errors_that_last(provider: Provider) -> None:
    provider.statuses = [500] * 10
    clock = Clock()
    with pytest.raises(SaslFailure, match=r"no token from .*: HTTP status 500"):
        fetch(provider, clock)
    assert clock.waits == [1, 2, 4, 3]
    assert len(provider.asked) == 5


@pytest.mark.parametrize("status", [400, 401, 403, 501])
def test_a_mistake_is_not_asked_again(provider: Provider, status: int) -> None:
    provider.statuses = [status]
    with pytest.raises(SaslFailure, match=f"HTTP status {status}"):
        fetch(provider, Clock())
    assert len(provider.asked) == 1


def test_a_slow_answer(provider: Provider) -> None:
    provider.delay = 0.5
    with pytest.raises(SaslFailure, match="timed out"):
        fetch(provider, Clock(), Patience(read=0.05, longest=0))


def test_no_error_says_the_secret() -> None:
    endpoint = TokenEndpoint("http://127.0.0.1:1/token", "node", "se:cret", patience=Patience())
    assert "se:cret" not in repr(endpoint)
    clock = Clock()
    with pytest.raises(SaslFailure, match=r"no token from http://127\.0\.0\.1:1/token") as raised:
        endpoint.fetch(clock.now, clock.sleep)
    assert "se:cret" not in str(raised.value)
