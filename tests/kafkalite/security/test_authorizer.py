"""StandardAuthorizer's rules, one by one and against a plain model."""

import logging
import tracemalloc
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.requests.principal import Principal
from kafkalite.security.acls import Acl, AclFilter, Operation, PatternType, Permission, ResourceType
from kafkalite.security.authorizer import Authorizer, parse_super_users
from kafkalite.wire.api_codec import drained
from tests.kafkalite.security.authorizers import ALICE, acl, authorizer

TOPIC = ResourceType.TOPIC


def may(
    made: Authorizer,
    name: str = "t",
    operation: Operation = Operation.READ,
    principal: Principal = ALICE,
    host: str = "10.0.0.1",
) -> bool:
    return made.is_allowed(principal, host, operation, TOPIC, name)


DENY = Permission.DENY


@pytest.mark.parametrize(
    ("acls", "expected"),
    [
        ([], False),
        ([acl()], True),
        ([acl("u")], False),
        ([acl("*")], True),
        ([acl("", pattern=PatternType.PREFIXED)], True),
        ([acl("t", pattern=PatternType.PREFIXED)], True),
        ([acl("tt", pattern=PatternType.PREFIXED)], False),
        ([acl("*", pattern=PatternType.PREFIXED)], False),
        ([acl(principal="User:*")], True),
        ([acl(principal="Group:alice")], False),
        ([acl(host="10.0.0.1")], True),
        ([acl(host="10.0.0.2")], False),
        ([acl(operation=Operation.ALL)], True),
        ([acl(operation=Operation.WRITE)], False),
        ([acl(kind=ResourceType.GROUP)], False),
        ([acl(), acl(permission=DENY)], False),
        ([acl(), acl(permission=DENY, host="10.0.0.2")], True),
        ([acl(), acl("*", permission=DENY)], False),
        ([acl(), acl("", permission=DENY, pattern=PatternType.PREFIXED)], False),
        ([acl(), acl(permission=DENY, operation=Operation.ALL)], False),
        ([acl(), acl(permission=DENY, operation=Operation.WRITE)], True),
    ],
)
def test_what_an_entry_decides(acls: list[Acl], expected: bool) -> None:
    assert may(authorizer(*acls)) is expected
    assert may(authorizer(*reversed(acls))) is expected


@pytest.mark.parametrize(
    ("given_operation", "implied"),
    [
        (Operation.READ, Operation.DESCRIBE),
        (Operation.WRITE, Operation.DESCRIBE),
        (Operation.DELETE, Operation.DESCRIBE),
        (Operation.ALTER, Operation.DESCRIBE),
        (Operation.ALTER_CONFIGS, Operation.DESCRIBE_CONFIGS),
    ],
)
def test_operations_imply_describing(given_operation: Operation, implied: Operation) -> None:
    assert may(authorizer(acl(operation=given_operation)), operation=implied)
    # A denial implies nothing.
    denied = authorizer(acl(operation=given_operation, permission=DENY), acl(operation=implied))
    assert may(denied, operation=implied)


def test_create_implies_nothing() -> None:
    assert not may(authorizer(acl(operation=Operation.CREATE)), operation=Operation.DESCRIBE)


def test_super_users_may_everything() -> None:
    made = authorizer(acl(permission=DENY), super_users="User:root; User:alice")
    assert may(made)
    assert not may(made, principal=Principal("User", "bob"))


def test_super_users_are_principals() -> None:
    with pytest.raises(ValueError, match="principalType:principalName but got alice"):
        parse_super_users("alice")


def test_everyone_is_let_in_only_where_there_is_no_entry_at_all() -> None:
    made = authorizer(acl("t", principal="User:bob"), allow_if_no_acl=True)
    assert may(made, "free")
    assert not may(made, "t")
    assert not may(authorizer(acl("*", principal="User:bob"), allow_if_no_acl=True), "free")


def test_decisions_are_forgotten_when_entries_change() -> None:
    made = authorizer()
    assert not may(made)
    made.add(UUID(int=1), acl())
    assert may(made)


def test_a_denial_is_logged_as_kafka_does(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="kafka.authorizer.logger"):
        made = authorizer()
        may(made)
        made.is_allowed(ALICE, "10.0.0.1", Operation.READ, TOPIC, "t", log_if_denied=False)
    (record,) = caplog.records
    assert record.message == (
        "Principal = User:alice is Denied operation = READ from host = 10.0.0.1 on resource = "
        "Topic:LITERAL:t for request =  with resourceRefCount = 1 based on rule DefaultDeny"
    )


def test_a_denial_names_the_entry_as_kafka_does(caplog: pytest.LogCaptureFixture) -> None:
    made = authorizer()
    made.add(UUID(int=1), acl(permission=Permission.DENY))
    with caplog.at_level(logging.INFO, logger="kafka.authorizer.logger"):
        may(made)
    (record,) = caplog.records
    assert record.message.endswith(
        "based on rule MatchingAcl(acl=StandardAcl[resourceType=TOPIC, resourceName=t, "
        "patternType=LITERAL, principal=User:alice, host=*, operation=READ, permissionType=DENY])"
    )


@pytest.mark.parametrize(
    ("acls", "expected"),
    [
        ([], False),
        ([acl("a", Operation.WRITE)], True),
        ([acl("a", Operation.WRITE), acl("a", Operation.WRITE, DENY)], False),
        ([acl("a", Operation.WRITE), acl("*", Operation.WRITE, DENY)], False),
        ([acl("*", Operation.WRITE), acl("a", Operation.WRITE, DENY)], True),
        (
            [
                acl("ab", Operation.WRITE),
                acl("a", Operation.ALL, DENY, pattern=PatternType.PREFIXED),
            ],
            False,
        ),
        (
            [
                acl("a", Operation.WRITE, pattern=PatternType.PREFIXED),
                acl("a", Operation.WRITE, DENY),
            ],
            True,
        ),
        ([acl("a", Operation.WRITE, principal="User:bob")], False),
    ],
)
def test_writing_somewhere(acls: list[Acl], expected: bool) -> None:
    made = authorizer(*acls)
    assert made.is_allowed_anywhere(ALICE, "h", Operation.WRITE, TOPIC) is expected


NAMES = st.sampled_from(["a", "ab", "abc", "b", "*", ""])
ACLS = st.builds(
    acl,
    NAMES,
    st.sampled_from([Operation.READ, Operation.WRITE, Operation.ALL, Operation.DESCRIBE]),
    st.sampled_from([Permission.ALLOW, DENY]),
    pattern=st.sampled_from([PatternType.LITERAL, PatternType.PREFIXED]),
    principal=st.sampled_from(["User:alice", "User:*", "User:bob"]),
    host=st.sampled_from(["*", "10.0.0.1", "10.0.0.2"]),
)


@pytest.mark.slow
@settings(max_examples=300)
@given(st.lists(ACLS, max_size=6), NAMES, st.sampled_from(list(Operation)), st.booleans())
def test_against_a_plain_model(
    acls: list[Acl], name: str, operation: Operation, everyone: bool
) -> None:
    here = [
        each
        for each in acls
        if (
            name.startswith(each.resource_name)
            if each.pattern_type is PatternType.PREFIXED
            else each.resource_name in (name, "*")
        )
    ]
    mine = [
        each
        for each in here
        if each.principal in ("User:alice", "User:*") and each.host in ("*", "10.0.0.1")
    ]
    same = {operation, Operation.ALL}
    implied = (
        same | {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
        if operation is Operation.DESCRIBE
        else same
    )
    denied = any(each.permission is DENY and each.operation in same for each in mine)
    allowed = any(
        each.permission is Permission.ALLOW and each.operation in implied for each in mine
    )
    expected = not denied and (allowed or (everyone and not here))
    made = authorizer(*acls, allow_if_no_acl=everyone)
    assert may(made, name, operation) is expected
    assert may(made, name, operation) is expected  # and again, from memory


ANY_FILTER = AclFilter(
    ResourceType.ANY, None, PatternType.ANY, None, None, Operation.ANY, Permission.ANY
)


def test_a_filter_of_anything_finds_all() -> None:
    acls = [acl("a"), acl("b", pattern=PatternType.PREFIXED)]
    assert [found for _, found in drained(authorizer(*acls).matching(ANY_FILTER))] == acls


def test_entries_come_and_go_one_by_one() -> None:
    made = authorizer(acl("t"), acl("t", permission=Permission.DENY), acl("*"))
    assert not may(made, "t")
    made.remove(UUID(int=1))
    assert may(made, "t")
    made.remove(UUID(int=0))
    made.remove(UUID(int=2))
    assert not may(made, "t")
    assert not made.acls
    made.add(UUID(int=3), acl("t"))
    made.add(UUID(int=3), acl("u"))
    assert [made.has(acl(name)) for name in "tu"] == [False, True]
    assert [may(made, name) for name in "tu"] == [False, True]


def test_a_decision_about_writing_somewhere_is_made_anew_when_entries_change() -> None:
    made = authorizer()

    def may_write() -> bool:
        return made.is_allowed_anywhere(ALICE, "h", Operation.WRITE, ResourceType.TOPIC)

    assert not may_write()
    made.add(UUID(int=1), acl("t", Operation.WRITE))
    assert may_write()
    made.remove(UUID(int=1))
    assert not may_write()


def test_names_that_clients_make_up_are_not_kept() -> None:
    """A client that asks about many names, or has a long one, leaves no memory behind."""
    made = authorizer()
    tracemalloc.start()
    try:
        for number in range(300):
            made.is_allowed(ALICE, "h", Operation.READ, ResourceType.TOPIC, f"{number:x<30000}")
            stranger = Principal("User", f"{number:x<30000}")
            made.is_allowed(stranger, "h", Operation.READ, ResourceType.TOPIC, "t")
            made.is_allowed_anywhere(stranger, "h", Operation.WRITE, ResourceType.TOPIC)
        for number in range(60_000):
            made.is_allowed(ALICE, "h", Operation.READ, ResourceType.TOPIC, f"topic-{number}")
        assert tracemalloc.get_traced_memory()[0] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_decision_about_a_long_name_looks_at_no_more_than_the_longest_prefix() -> None:
    made = authorizer(acl("x" * 10, pattern=PatternType.PREFIXED))
    assert may(made, "x" * 32_000)
    assert not may(made, "x" * 9)
