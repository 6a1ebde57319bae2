"""StandardAuthorizer: may a principal at a host do an operation on a resource?

Rules, from the strongest:

1. Super users may do everything.
2. A matching DENY refuses.
3. A matching ALLOW allows.
4. A resource that has no entry at all follows `allow.everyone.if.no.acl.found`.
5. Everything else is refused.

Entries match a resource literally, by prefix, or by the literal name `*`. READ,
WRITE, DELETE and ALTER allow DESCRIBE, too, and ALTER_CONFIGS allows DESCRIBE_CONFIGS; a DENY
implies nothing.

Source: Kafka's StandardAuthorizerData and Authorizer.authorizeByResourceType (KIP-11, KIP-290,
KIP-801, KIP-679).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from kafkalite.log.loggers import logger_of
from kafkalite.requests.principal import Principal, parse_principal
from kafkalite.requests.slices import Steps, batches
from kafkalite.requests.topic_names import MAX_NAME_LENGTH
from kafkalite.security.acl_entries import AclEntries, applying
from kafkalite.security.acls import (
    WILDCARD,
    Acl,
    AclFilter,
    Operation,
    PatternType,
    Permission,
    ResourceType,
)

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

# Kafka's audit log: denied at INFO, allowed at DEBUG.
audit: Final = logger_of("kafka.authorizer.logger")

_IMPLY_DESCRIBE: Final = frozenset(
    {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
)
_IMPLY_DESCRIBE_CONFIGS: Final = frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS})

# Decisions that are kept; beyond this all are forgotten. Those on longer names, which a client may
# make up, are not kept.
_MAX_DECISIONS: Final = 20_000

_Decision = tuple[bool, str]
# A principal, its host, an operation, a type of resource, and a name.
_Question = tuple[str, str, Operation, ResourceType, str]


def parse_super_users(text: str | None) -> frozenset[str]:
    """`super.users`: principals by semicolon. Raises ValueError."""
    users = frozenset(user.strip() for user in (text or "").split(";") if user.strip())
    for user in users:
        parse_principal(user)
    return users


class Authorizer:
    """The entries in force and the decisions they lead to."""

    def __init__(
        self,
        super_users: Iterable[str] = (),
        *,
        allow_if_no_acl: bool = False,
    ) -> None:
        """`super_users` are written `User:name`."""
        self._super_users = frozenset(super_users)
        self._allow_if_no_acl = allow_if_no_acl
        # Another number with each change of the entries: decisions of before do not count.
        self.epoch = 0
        self.allowed_count = 0
        self.denied_count = 0
        self._acls: dict[UUID, Acl] = {}
        self._ids: dict[Acl, UUID] = {}
        self._by_type: dict[ResourceType, AclEntries] = {}
        self._decisions: dict[_Question, _Decision] = {}
        self._anywhere: dict[tuple[str, str, Operation, ResourceType], bool] = {}

    @property
    def acls(self) -> Mapping[UUID, Acl]:
        """All entries, by id."""
        return self._acls

    def matching(self, wanted: AclFilter) -> Steps[list[tuple[UUID, Acl]]]:
        """The entries a filter finds, with their ids: of those there are when it is asked."""
        kinds = [wanted.resource_type]
        if wanted.resource_type is ResourceType.ANY:
            kinds = list(self._by_type)
        looked_at: list[tuple[UUID, Acl]] = []
        if wanted.resource_name is None and wanted.principal is None:
            looked_at += self._acls.items()
            kinds = []
        for kind in kinds:
            if kind in self._by_type:
                looked_at += self._by_type[kind].candidates(wanted)
        found: list[tuple[UUID, Acl]] = []
        for some in batches(looked_at):
            yield
            found += [each for each in some if wanted.matches(each[1])]
        return found

    def has(self, acl: Acl) -> bool:
        """True if there is such an entry."""
        return acl in self._ids

    def add(self, key: UUID, acl: Acl) -> None:
        """Put one more entry in force."""
        self.remove(key)
        self._acls[key] = acl
        self._ids[acl] = key
        self._by_type.setdefault(acl.resource_type, AclEntries()).add(key, acl)

    def remove(self, key: UUID) -> None:
        """Put an entry out of force, if it is there."""
        self._forget_decisions()
        acl = self._acls.pop(key, None)
        if acl is None:
            return
        if self._ids.get(acl) == key:
            del self._ids[acl]
        self._by_type[acl.resource_type].remove(key, acl)

    def _forget_decisions(self) -> None:
        self._decisions.clear()
        self._anywhere.clear()
        self.epoch += 1

    def is_allowed(
        self,
        principal: Principal,
        host: str,
        operation: Operation,
        resource_type: ResourceType,
        name: str,
        *,
        api: str = "",
        log_if_denied: bool = True,
    ) -> bool:
        """The decision, kept until the entries change. `api` is for the audit log."""
        question = (str(principal), host, operation, resource_type, name)
        decision = self._decisions.get(question)
        if decision is None:
            decision = self._decide(question)
            if len(name) <= MAX_NAME_LENGTH and len(question[0]) <= MAX_NAME_LENGTH:
                if len(self._decisions) >= _MAX_DECISIONS:
                    self._decisions.clear()
                self._decisions[question] = decision
        allowed = decision[0]
        if allowed:
            self.allowed_count += 1
        else:
            self.denied_count += 1
        if not allowed and log_if_denied:
            self._audit(logging.INFO, question, api, decision)
        elif allowed and audit.isEnabledFor(logging.DEBUG):
            self._audit(logging.DEBUG, question, api, decision)
        return allowed

    def is_allowed_anywhere(
        self, principal: Principal, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        """True if some resource of the type may exist on which the operation is allowed."""
        if self.is_allowed(
            principal, host, operation, resource_type, "hardcode", log_if_denied=False
        ):
            return True
        question = (str(principal), host, operation, resource_type)
        found = self._anywhere.get(question)
        if found is None:
            found = self._look_anywhere(*question)
            if len(question[0]) <= MAX_NAME_LENGTH:
                if len(self._anywhere) >= _MAX_DECISIONS:
                    self._anywhere.clear()
                self._anywhere[question] = found
        return found

    def _look_anywhere(
        self, principal: str, host: str, operation: Operation, resource_type: ResourceType
    ) -> bool:
        denied: dict[PatternType, set[str]] = {
            PatternType.LITERAL: set(),
            PatternType.PREFIXED: set(),
        }
        allowed: dict[PatternType, set[str]] = {
            PatternType.LITERAL: set(),
            PatternType.PREFIXED: set(),
        }
        entries = self._by_type.get(resource_type)
        for acl in entries.of(principal) if entries is not None else ():
            if acl.host not in (host, WILDCARD) or acl.operation not in (operation, Operation.ALL):
                continue
            names = denied if acl.permission is Permission.DENY else allowed
            names[acl.pattern_type].add(acl.resource_name)
        if WILDCARD in denied[PatternType.LITERAL]:
            return False
        if WILDCARD in allowed[PatternType.LITERAL]:
            return True
        return any(
            not _is_dominated(name, denied[PatternType.PREFIXED])
            for kind, names in allowed.items()
            for name in names
            if kind is PatternType.PREFIXED or name not in denied[PatternType.LITERAL]
        )

    def _decide(self, question: _Question) -> _Decision:
        principal, host, operation, resource_type, name = question
        if principal in self._super_users:
            return True, "SuperUser"
        found: Acl | None = None
        has_acls = False
        entries = self._by_type.get(resource_type)
        for by_principal in entries.on(name) if entries is not None else ():
            has_acls = True
            for acl in applying(by_principal, principal):
                if not _applies(acl, host, operation):
                    continue
                if acl.permission is Permission.DENY:
                    return False, f"MatchingAcl(acl={acl})"
                found = found or acl
        if found is not None:
            return True, f"MatchingAcl(acl={found})"
        if not has_acls and self._allow_if_no_acl:
            return True, "DefaultAllow"
        return False, "DefaultDeny"

    def _audit(self, level: int, question: _Question, api: str, decision: _Decision) -> None:
        principal, host, operation, resource_type, name = question
        allowed, rule = decision
        audit.log(
            level,
            "Principal = %s is %s operation = %s from host = %s on resource = %s:LITERAL:%s "
            "for request = %s with resourceRefCount = 1 based on rule %s",
            principal,
            "Allowed" if allowed else "Denied",
            operation.name,
            host,
            _TYPE_NAMES.get(resource_type, resource_type.name),
            name,
            api,
            rule,
        )


_TYPE_NAMES: Final = {
    ResourceType.TOPIC: "Topic",
    ResourceType.GROUP: "Group",
    ResourceType.CLUSTER: "Cluster",
    ResourceType.TRANSACTIONAL_ID: "TransactionalId",
    ResourceType.DELEGATION_TOKEN: "DelegationToken",
    ResourceType.USER: "User",
}


def _applies(acl: Acl, host: str, operation: Operation) -> bool:
    if acl.host not in (host, WILDCARD):
        return False
    if acl.operation in (operation, Operation.ALL):
        return True
    if acl.permission is not Permission.ALLOW:
        return False
    if operation is Operation.DESCRIBE:
        return acl.operation in _IMPLY_DESCRIBE
    if operation is Operation.DESCRIBE_CONFIGS:
        return acl.operation in _IMPLY_DESCRIBE_CONFIGS
    return False


def _is_dominated(name: str, prefixes: set[str]) -> bool:
    return any(name[:end] in prefixes for end in range(1, len(name) + 1))
