"""Entries: filters, what may be created, and records."""

from dataclasses import replace
from uuid import UUID

import pytest

from kafkalite.security.acls import (
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
    validate_new,
)
from kafkalite.wire.errors import KafkaError

ACL = Acl(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    Operation.READ,
    Permission.ALLOW,
)
PREFIX = replace(ACL, resource_name="ord", pattern_type=PatternType.PREFIXED)
WILDCARD = replace(ACL, resource_name="*")
FILTER = AclFilter(
    ResourceType.TOPIC, "orders", PatternType.LITERAL, None, None, Operation.ANY, Permission.ANY
)


@pytest.mark.parametrize(
    ("pattern", "name", "found"),
    [
        (PatternType.LITERAL, "orders", {"literal"}),
        (PatternType.LITERAL, "*", {"wildcard"}),
        (PatternType.PREFIXED, "ord", {"prefix"}),
        (PatternType.PREFIXED, "orders", set()),
        (PatternType.ANY, "orders", {"literal"}),
        (PatternType.ANY, "ord", {"prefix"}),
        (PatternType.MATCH, "orders", {"literal", "prefix", "wildcard"}),
        (PatternType.MATCH, "or", {"wildcard"}),
        (PatternType.LITERAL, None, {"literal", "wildcard"}),
    ],
)
def test_patterns_of_filters(pattern: PatternType, name: str | None, found: set[str]) -> None:
    wanted = replace(FILTER, pattern_type=pattern, resource_name=name)
    acls = {"literal": ACL, "prefix": PREFIX, "wildcard": WILDCARD}
    assert {key for key, acl in acls.items() if wanted.matches(acl)} == found


@pytest.mark.parametrize(
    ("changes", "matches"),
    [
        ({"principal": "User:alice"}, True),
        ({"principal": "User:bob"}, False),
        ({"host": "*"}, True),
        ({"host": "10.0.0.1"}, False),
        ({"operation": Operation.READ}, True),
        ({"operation": Operation.ALL}, False),
        ({"permission": Permission.DENY}, False),
        ({"resource_type": ResourceType.ANY}, True),
        ({"resource_type": ResourceType.GROUP}, False),
    ],
)
def test_entries_of_filters(changes: dict[str, object], matches: bool) -> None:
    assert replace(FILTER, **changes).matches(ACL) is matches


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"resource_type": ResourceType.ANY}, "Invalid resourceType ANY"),
        ({"resource_type": ResourceType.UNKNOWN}, "Invalid resourceType UNKNOWN"),
        ({"pattern_type": PatternType.MATCH}, "Invalid patternType MATCH"),
        ({"pattern_type": PatternType.ANY}, "Invalid patternType ANY"),
        ({"operation": Operation.ANY}, "Invalid operation ANY"),
        ({"permission": Permission.ANY}, "Invalid permissionType ANY"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"principal": "alice"}, "no colon is present"),
        ({"resource_type": ResourceType.CLUSTER}, "only valid name for the CLUSTER resource"),
    ],
)
def test_what_cannot_be_created(changes: dict[str, object], words: str) -> None:
    with pytest.raises(KafkaError, match=words):
        validate_new(replace(ACL, **changes))


def test_records_hold_all_of_it() -> None:
    assert Acl.from_record(ACL.to_record(UUID(int=1))) == ACL
    validate_new(ACL)


def test_unknown_numbers_are_unknown() -> None:
    assert ResourceType.of(99) is ResourceType.UNKNOWN
    assert replace(FILTER, resource_type=ResourceType.of(99)).has_unknown_pattern
    assert replace(FILTER, operation=Operation.of(-3)).has_unknown_entry
    assert not FILTER.has_unknown_pattern
