"""One client's access: questions without an authorizer, and with one."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest

from kafkalite.requests.principal import ANONYMOUS
from kafkalite.requests.slices import at_once
from kafkalite.security.access import Access, Permits
from kafkalite.security.acls import Acl, Operation, Permission, ResourceType
from kafkalite.security.authorizer import Authorizer
from kafkalite.wire.api_keys import ApiKey
from tests.kafkalite.security.authorizers import ALICE, acl, authorizer, on_cluster

READ, WRITE, DESCRIBE = Operation.READ, Operation.WRITE, Operation.DESCRIBE
TOPIC, CLUSTER = ResourceType.TOPIC, ResourceType.CLUSTER


def access(*acls: Acl, host: str = "10.0.0.1") -> Access:
    return Access(authorizer(*acls), ALICE, host, ApiKey.FETCH)


def test_without_an_authorizer_everything_is_allowed() -> None:
    free = Access()
    assert free.principal == ANONYMOUS
    assert free.may(READ, TOPIC, "t")
    assert free.may_anywhere(WRITE, TOPIC)
    assert at_once(free.allowed(READ, TOPIC, ["a", "b"])) == {"a", "b"}
    assert free.operations(CLUSTER) == sum(1 << each for each in (5, 7, 8, 9, 10, 11, 12))


def test_a_resource_without_a_name_is_the_cluster() -> None:
    mine = access(on_cluster(Operation.ALTER))
    assert mine.may(Operation.ALTER, CLUSTER)
    assert not mine.may(Operation.CREATE, CLUSTER)


def test_the_host_counts() -> None:
    entry = acl("t", READ, host="10.0.0.1")
    assert access(entry).may(READ, TOPIC, "t")
    assert not access(entry, host="10.0.0.2").may(READ, TOPIC, "t")


def test_those_that_are_allowed() -> None:
    assert at_once(access(acl("a", READ)).allowed(READ, TOPIC, ["a", "b", "a"])) == {"a"}


def test_anywhere_is_somewhere() -> None:
    assert access(acl("a", WRITE)).may_anywhere(WRITE, TOPIC)
    assert not access(acl("a", READ)).may_anywhere(WRITE, TOPIC)


def test_operations_are_a_bit_field() -> None:
    mine = access(acl("a", READ), acl("a", Operation.ALTER_CONFIGS))
    expected = (READ, DESCRIBE, Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS)
    assert mine.operations(TOPIC, "a") == sum(1 << each for each in expected)
    assert mine.operations(TOPIC, "b") == 0


@pytest.mark.parametrize("log", [True, False])
def test_a_refusal_is_logged_with_the_api(log: bool, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kafka.authorizer.logger"):
        access().may(READ, TOPIC, "t", log=log)
        access().operations(TOPIC, "t")
    assert ["for request = Fetch " in message for message in caplog.messages] == [True] * log


def permits(*acls: Acl) -> tuple[Permits, Authorizer]:
    made = authorizer(*acls)
    return Permits(made, ALICE, "10.0.0.1", READ, ApiKey.FETCH), made


def test_what_is_remembered_is_forgotten_with_each_change_of_the_entries() -> None:
    may, made = permits(acl("t"))
    assert may("t")
    assert may("t")
    made.remove(UUID(int=0))
    assert not may("t")
    made.add(UUID(int=1), acl("t"))
    assert may("t")
    # A name that is asked about later brings back nothing of before.
    made.add(UUID(int=1), acl("u"))
    assert may("u")
    assert not may("t")
    made.add(UUID(int=1), acl("*"))
    made.add(UUID(int=2), acl("u", permission=Permission.DENY))
    assert may("t")
    assert not may("u")


def test_what_is_remembered_is_asked_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    may, made = permits(acl("t"))
    assert may("t")
    monkeypatch.setattr(made, "is_allowed", None)
    assert may("t")
    assert made.allowed_count == 2


def test_only_so_many_names_are_remembered() -> None:
    may, _ = permits(acl("*"))
    for number in range(2_500):
        assert may(f"t{number}")
    assert len(may.names) <= 1_000
    assert may("t0")


def test_each_refusal_and_while_debugging_each_consent_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    may, _ = permits(acl("t"))
    with caplog.at_level(logging.INFO, logger="kafka.authorizer.logger"):
        assert [may("t"), may("t"), may("u"), may("u"), may("u", log=False)].count(True) == 2
    assert ["is Denied" in message for message in caplog.messages] == [True] * 2
    caplog.clear()
    with caplog.at_level(logging.DEBUG, logger="kafka.authorizer.logger"):
        assert may("t")
    (message,) = caplog.messages
    assert "is Allowed" in message
    assert "for request = Fetch " in message
