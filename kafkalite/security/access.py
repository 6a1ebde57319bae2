"""One client's access: its principal and host, asked about operations on resources.

Without an authorizer everything is allowed, and the same code serves.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from kafkalite.requests.principal import ANONYMOUS, Principal
from kafkalite.requests.slices import Steps, release_set
from kafkalite.security.acls import CLUSTER_NAME, SUPPORTED_OPERATIONS, Operation, ResourceType
from kafkalite.security.authorizer import Authorizer, audit
from kafkalite.wire.api_keys import ApiKey

# Names that one connection remembers; beyond this it forgets all of them.
_MAX_NAMES: Final = 1_000


class Access:
    """A client's permissions, in a request of the API `api_key`."""

    __slots__ = ("_authorizer", "_host", "api_key", "principal")

    def __init__(
        self,
        authorizer: Authorizer | None = None,
        principal: Principal = ANONYMOUS,
        host: str = "",
        api_key: ApiKey | None = None,
    ) -> None:
        self._authorizer = authorizer
        self._host = host
        self.principal = principal
        self.api_key = api_key

    def may(
        self,
        operation: Operation,
        resource_type: ResourceType,
        name: str = CLUSTER_NAME,
        *,
        log: bool = True,
    ) -> bool:
        """True if the operation is allowed. A refusal is logged unless it is only a filter."""
        if self._authorizer is None:
            return True
        return self._authorizer.is_allowed(
            self.principal,
            self._host,
            operation,
            resource_type,
            name,
            api="" if self.api_key is None else self.api_key.message_name,
            log_if_denied=log,
        )

    def may_anywhere(self, operation: Operation, resource_type: ResourceType) -> bool:
        """True if the operation is allowed on some resource of the type."""
        if self._authorizer is None:
            return True
        return self._authorizer.is_allowed_anywhere(
            self.principal, self._host, operation, resource_type
        )

    def allowed(
        self, operation: Operation, resource_type: ResourceType, names: Iterable[str]
    ) -> Steps[set[str]]:
        """The names on which the operation is allowed; each is asked once."""
        allowed: set[str] = set()
        denied: set[str] = set()
        for name in names:
            if name not in allowed and name not in denied:
                is_allowed = self.may(operation, resource_type, name)
                (allowed if is_allowed else denied).add(name)
            yield
        yield from release_set(denied)
        return allowed

    def operations(self, resource_type: ResourceType, name: str = CLUSTER_NAME) -> int:
        """The bit field `authorized_operations` of a resource (KIP-430)."""
        return sum(
            1 << operation
            for operation in SUPPORTED_OPERATIONS[resource_type]
            if self.may(operation, resource_type, name, log=False)
        )


class Permits:
    """The topics on which one connection may do one operation, remembered: one look for each.

    Only what is allowed is remembered, until the entries change. A connection whose principal is
    another object needs another of these.
    """

    __slots__ = ("_api", "_authorizer", "_epoch", "_host", "_operation", "names", "principal")

    def __init__(
        self,
        authorizer: Authorizer,
        principal: Principal,
        host: str,
        operation: Operation,
        api_key: ApiKey,
    ) -> None:
        self._authorizer = authorizer
        self._host = host
        self._api = api_key.message_name
        self.names: set[str] = set()
        self._epoch = -1
        self._operation = operation
        self.principal = principal

    def __call__(self, name: str, *, log: bool = True) -> bool:
        """True if it is allowed. A refusal is logged unless `log` says otherwise."""
        authorizer = self._authorizer
        if (
            name in self.names
            and self._epoch == authorizer.epoch
            and not audit.isEnabledFor(logging.DEBUG)
        ):
            authorizer.allowed_count += 1
            return True
        if self._epoch != authorizer.epoch or len(self.names) >= _MAX_NAMES:
            self.names.clear()
            self._epoch = authorizer.epoch
        allowed = authorizer.is_allowed(
            self.principal,
            self._host,
            self._operation,
            ResourceType.TOPIC,
            name,
            api=self._api,
            log_if_denied=log,
        )
        if allowed:
            self.names.add(name)
        return allowed
