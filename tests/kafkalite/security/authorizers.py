"""Authorizers with a few entries, and requests put to the rules of authorization."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kafkalite.requests.principal import Principal
from kafkalite.security.access import Access
from kafkalite.security.acls import Acl, Operation, PatternType, Permission, ResourceType
from kafkalite.security.authorization.rules import Asked
from kafkalite.security.authorizer import Authorizer, parse_super_users
from kafkalite.wire.api_keys import ApiKey

ALICE = Principal("User", "alice")
HOST = "10.0.0.1"
CLUSTER = "kafka-cluster"


def acl(
    name: str = "t",
    operation: Operation = Operation.READ,
    permission: Permission = Permission.ALLOW,
    *,
    pattern: PatternType = PatternType.LITERAL,
    principal: str = "User:alice",
    host: str = "*",
    kind: ResourceType = ResourceType.TOPIC,
) -> Acl:
    return Acl(kind, name, pattern, principal, host, operation, permission)


def on_cluster(operation: Operation) -> Acl:
    return acl(CLUSTER, operation, kind=ResourceType.CLUSTER)


def on_group(name: str, operation: Operation = Operation.READ) -> Acl:
    return acl(name, operation, kind=ResourceType.GROUP)


def on_transaction(name: str, operation: Operation = Operation.WRITE) -> Acl:
    return acl(name, operation, kind=ResourceType.TRANSACTIONAL_ID)


def authorizer(*acls: Acl, allow_if_no_acl: bool = False, super_users: str = "") -> Authorizer:
    made = Authorizer(parse_super_users(super_users), allow_if_no_acl=allow_if_no_acl)
    for number, each in enumerate(acls):
        made.add(UUID(int=number), each)
    return made


class Known:
    """The topics there are: their partitions by name. The id of the nth is n, from 1 on."""

    def __init__(self, topics: Mapping[str, int], *, creates_topics: bool = False) -> None:
        self.creates_topics = creates_topics
        self._partitions = topics
        self._ids = {name: UUID(int=number) for number, name in enumerate(topics, 1)}

    def names(self) -> list[str]:
        return list(self._partitions)

    def name_of(self, topic_id: UUID) -> str | None:
        return next((name for name, each in self._ids.items() if each == topic_id), None)

    def id_of(self, name: str) -> UUID | None:
        return self._ids.get(name)

    def has_partition(self, name: str, index: int) -> bool:
        return 0 <= index < self._partitions.get(name, 0)


def asked(
    api_key: ApiKey,
    request: Any,
    *acls: Acl,
    version: int,
    topics: Mapping[str, int] | None = None,
    creates_topics: bool = False,
    security_protocol: str = "SASL_PLAINTEXT",
) -> Asked:
    """A request of alice's, who may what the entries say."""
    access = Access(authorizer(*acls), ALICE, HOST, api_key)
    known = Known(topics or {}, creates_topics=creates_topics)
    return Asked(api_key, version, request, access, known, security_protocol)
