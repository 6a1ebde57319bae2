"""Access control entries: their parts as Kafka numbers them, and the filters that match them.

Sources: Kafka's ResourceType, PatternType, AclOperation, AclPermissionType,
ResourcePatternFilter and AccessControlEntryFilter; KIP-140, KIP-290, KIP-373.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Self
from uuid import UUID

from kafkalite.wire.errors import invalid_request
from kafkalite.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord

if TYPE_CHECKING:
    from kafkalite.wire.messages.delete_acls import DeleteAclsFilter
    from kafkalite.wire.messages.describe_acls import DescribeAclsRequest

WILDCARD: Final = "*"
WILDCARD_PRINCIPAL: Final = "User:*"
CLUSTER_NAME: Final = "kafka-cluster"


class _Coded(IntEnum):
    """A number on the wire; one that is not known counts as UNKNOWN (0)."""

    @classmethod
    def of(cls, code: int) -> Self:
        return cls(code) if code in cls._value2member_map_ else cls(0)


class ResourceType(_Coded):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(_Coded):
    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Operation(_Coded):
    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class Permission(_Coded):
    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


# The numbers of an entry and of a filter in a request. Kafka does not even parse one that has a
# zero, for UNKNOWN: it closes the connection of any client.
numbers_of_entry: Final = attrgetter(
    "resource_type", "resource_pattern_type", "operation", "permission_type"
)
numbers_of_filter: Final = attrgetter(
    "resource_type_filter", "pattern_type_filter", "operation", "permission_type"
)

# The operations that make sense for each type of resource (Kafka's AclEntry).
SUPPORTED_OPERATIONS: Final[dict[ResourceType, frozenset[Operation]]] = {
    ResourceType.TOPIC: frozenset(
        {
            Operation.READ,
            Operation.WRITE,
            Operation.CREATE,
            Operation.DESCRIBE,
            Operation.DELETE,
            Operation.ALTER,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.GROUP: frozenset(
        {
            Operation.READ,
            Operation.DESCRIBE,
            Operation.DELETE,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
        }
    ),
    ResourceType.CLUSTER: frozenset(
        {
            Operation.CREATE,
            Operation.CLUSTER_ACTION,
            Operation.DESCRIBE_CONFIGS,
            Operation.ALTER_CONFIGS,
            Operation.IDEMPOTENT_WRITE,
            Operation.ALTER,
            Operation.DESCRIBE,
        }
    ),
    ResourceType.TRANSACTIONAL_ID: frozenset(
        {Operation.DESCRIBE, Operation.WRITE, Operation.TWO_PHASE_COMMIT}
    ),
    ResourceType.DELEGATION_TOKEN: frozenset({Operation.DESCRIBE}),
    ResourceType.USER: frozenset({Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS}),
}


@dataclass(frozen=True, slots=True)
class Acl:
    """One entry: on which resources, for whom, from where, what, allowed or denied."""

    resource_type: ResourceType
    resource_name: str
    pattern_type: PatternType
    principal: str
    host: str
    operation: Operation
    permission: Permission

    def __str__(self) -> str:
        """The entry in Kafka's words, for its audit log (StandardAcl)."""
        return (
            f"StandardAcl[resourceType={self.resource_type.name}, "
            f"resourceName={self.resource_name}, patternType={self.pattern_type.name}, "
            f"principal={self.principal}, host={self.host}, operation={self.operation.name}, "
            f"permissionType={self.permission.name}]"
        )

    @classmethod
    def from_record(cls, record: AccessControlEntryRecord) -> Acl:
        return cls(
            ResourceType.of(record.resource_type),
            record.resource_name,
            PatternType.of(record.pattern_type),
            record.principal,
            record.host,
            Operation.of(record.operation),
            Permission.of(record.permission_type),
        )

    def to_record(self, acl_id: UUID) -> AccessControlEntryRecord:
        return AccessControlEntryRecord(
            id=acl_id,
            resource_type=self.resource_type,
            resource_name=self.resource_name,
            pattern_type=self.pattern_type,
            principal=self.principal,
            host=self.host,
            operation=self.operation,
            permission_type=self.permission,
        )


def validate_name(acl: Acl) -> None:
    """Raise KafkaError(INVALID_REQUEST) for an entry that no controller is asked for (AclApis)."""
    if acl.resource_type is ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        raise invalid_request(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not acl.resource_name:
        raise invalid_request("Invalid empty resource name")


def validate_new(acl: Acl) -> None:
    """Raise KafkaError(INVALID_REQUEST) for an entry that cannot be created (AclControlManager)."""
    validate_name(acl)
    if acl.resource_type in (ResourceType.UNKNOWN, ResourceType.ANY):
        raise invalid_request(f"Invalid resourceType {acl.resource_type.name}")
    if acl.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        raise invalid_request(f"Invalid patternType {acl.pattern_type.name}")
    if acl.operation in (Operation.UNKNOWN, Operation.ANY):
        raise invalid_request(f"Invalid operation {acl.operation.name}")
    if acl.permission not in (Permission.DENY, Permission.ALLOW):
        raise invalid_request(f"Invalid permissionType {acl.permission.name}")
    if ":" not in acl.principal:
        raise invalid_request(
            f"Could not parse principal from `{acl.principal}` (no colon is present separating "
            "the principal type from the principal name)"
        )


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Matches entries. None and ANY match all; MATCH finds what would apply to a name."""

    resource_type: ResourceType
    resource_name: str | None
    pattern_type: PatternType
    principal: str | None
    host: str | None
    operation: Operation
    permission: Permission

    @classmethod
    def of(cls, asked: DescribeAclsRequest | DeleteAclsFilter) -> AclFilter:
        """The filter that a request describes."""
        return cls(
            resource_type=ResourceType.of(asked.resource_type_filter),
            resource_name=asked.resource_name_filter,
            pattern_type=PatternType.of(asked.pattern_type_filter),
            principal=asked.principal_filter,
            host=asked.host_filter,
            operation=Operation.of(asked.operation),
            permission=Permission.of(asked.permission_type),
        )

    @property
    def has_unknown_pattern(self) -> bool:
        return (
            self.resource_type is ResourceType.UNKNOWN or self.pattern_type is PatternType.UNKNOWN
        )

    @property
    def has_unknown_entry(self) -> bool:
        return self.operation is Operation.UNKNOWN or self.permission is Permission.UNKNOWN

    def matches(self, acl: Acl) -> bool:
        return self._matches_pattern(acl) and self._matches_entry(acl)

    def _matches_pattern(self, acl: Acl) -> bool:
        if self.resource_type not in (ResourceType.ANY, acl.resource_type):
            return False
        if self.pattern_type not in (PatternType.ANY, PatternType.MATCH, acl.pattern_type):
            return False
        name = self.resource_name
        if name is None:
            return True
        if self.pattern_type is PatternType.ANY or self.pattern_type is acl.pattern_type:
            return name == acl.resource_name
        if acl.pattern_type is PatternType.LITERAL:
            return acl.resource_name in (name, WILDCARD)
        return name.startswith(acl.resource_name)

    def _matches_entry(self, acl: Acl) -> bool:
        return (
            self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (Operation.ANY, acl.operation)
            and self.permission in (Permission.ANY, acl.permission)
        )
