"""Entries are found by name and by principal, and no others are looked at."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from kafkalite.requests.slices import AT_ONCE
from kafkalite.security.acl_entries import AclEntries, applying
from kafkalite.security.acls import Acl, AclFilter, Operation, PatternType, Permission, ResourceType
from kafkalite.wire.api_codec import drained
from tests.kafkalite.security.authorizers import ALICE, acl, authorizer

EVERYBODY = "User:*"
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED

names = st.sampled_from(["", "*", "a", "ab", "abc", "b"])
principals = st.sampled_from(["User:alice", "User:bob", EVERYBODY])
kinds = st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP])
some_acls = st.lists(
    st.builds(
        acl,
        names,
        principal=principals,
        pattern=st.sampled_from([LITERAL, PREFIXED]),
        kind=kinds,
    ),
    max_size=8,
)
filters = st.builds(
    AclFilter,
    st.just(ResourceType.ANY) | kinds,
    st.none() | names,
    st.sampled_from([PatternType.ANY, PatternType.MATCH, LITERAL, PREFIXED]),
    st.none() | principals,
    st.none(),
    st.just(Operation.ANY),
    st.just(Permission.ANY),
)


def entries_of(*acls: Acl) -> AclEntries:
    made = AclEntries()
    for number, each in enumerate(acls):
        made.add(UUID(int=number), each)
    return made


@given(some_acls, filters)
def test_a_filter_finds_what_it_matches(acls: list[Acl], wanted: AclFilter) -> None:
    found = {key for key, _ in drained(authorizer(*acls).matching(wanted))}
    assert found == {UUID(int=at) for at, each in enumerate(acls) if wanted.matches(each)}


@given(some_acls, st.data())
def test_what_is_removed_is_not_found(acls: list[Acl], data: st.DataObject) -> None:
    made = entries_of(*acls)
    gone = data.draw(st.sets(st.sampled_from(range(len(acls))))) if acls else set[int]()
    for number in gone:
        made.remove(UUID(int=number), acls[number])
    left = [each for number, each in enumerate(acls) if number not in gone]
    for principal in ("User:alice", EVERYBODY):
        of_principal = [each for each in left if each.principal in (principal, EVERYBODY)]
        assert sorted(map(repr, made.of(principal))) == sorted(map(repr, of_principal))
    for name in ("", "*", "a", "abcd"):
        wanted = AclFilter(
            *(ResourceType.ANY, name, PatternType.MATCH, None, None),
            *(Operation.ANY, Permission.ANY),
        )
        on = [each for by in made.on(name) for few in by.values() for each in few.values()]
        assert sorted(map(repr, on)) == sorted(repr(each) for each in left if wanted.matches(each))
        assert all(made.on(name)), "none is empty"


def test_the_entries_of_others_are_not_looked_at() -> None:
    others = [acl("t", principal=f"User:{number}") for number in range(100)]
    made = entries_of(*others, acl("t", principal=str(ALICE)), acl("t", principal=EVERYBODY))
    (by_principal,) = made.on("t")
    assert len(list(applying(by_principal, str(ALICE)))) == 2
    assert len(list(made.of(str(ALICE)))) == 2
    assert len(list(made.of(EVERYBODY))) == 1


def test_a_filter_looks_at_few_at_once_and_only_at_those_of_its_name_or_principal() -> None:
    count = 4 * AT_ONCE
    many = authorizer(*(acl(f"t{number}", principal=f"User:{number}") for number in range(count)))

    def steps(name: str | None, principal: str | None) -> int:
        wanted = AclFilter(
            *(ResourceType.ANY, name, PatternType.ANY, principal, None),
            *(Operation.ANY, Permission.ANY),
        )
        return sum(1 for _ in many.matching(wanted))

    assert steps(None, None) == 4
    assert steps("t7", None) == steps(None, "User:7") == 1
    assert steps("missing", None) == 0
