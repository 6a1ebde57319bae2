"""The ACL entries on one type of resource, found by the resource's name, by principal, or both.

There may be fifty thousand, each on another resource or all on one. Not all of them are looked at
to decide about one principal and one resource.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final
from uuid import UUID

from kafkalite.security.acls import WILDCARD, WILDCARD_PRINCIPAL, Acl, AclFilter, PatternType

_OfPrincipals = dict[str, dict[UUID, Acl]]
"""Entries by id, by principal."""

_NONE: Final[Mapping[str, dict[UUID, Acl]]] = {}
_NO_ENTRIES: Final[Mapping[UUID, Acl]] = {}


class AclEntries:
    """The entries on one type of resource."""

    __slots__ = ("_by_principal", "_literal", "_longest_prefix", "_prefixed")

    def __init__(self) -> None:
        # By the name in the pattern.
        self._literal: dict[str, _OfPrincipals] = {}
        self._prefixed: dict[str, _OfPrincipals] = {}
        self._by_principal: _OfPrincipals = {}
        self._longest_prefix = 0

    def add(self, key: UUID, acl: Acl) -> None:
        by_name = self._by_name(acl)
        _add(by_name.setdefault(acl.resource_name, {}), key, acl)
        _add(self._by_principal, key, acl)
        if acl.pattern_type is PatternType.PREFIXED:
            self._longest_prefix = max(self._longest_prefix, len(acl.resource_name))

    def remove(self, key: UUID, acl: Acl) -> None:
        """Forget an entry that was added."""
        by_name = self._by_name(acl)
        _remove(by_name[acl.resource_name], key, acl)
        if not by_name[acl.resource_name]:
            del by_name[acl.resource_name]
        _remove(self._by_principal, key, acl)

    def on(self, name: str) -> Iterator[Mapping[str, dict[UUID, Acl]]]:
        """The entries whose pattern matches a resource's name, by principal. None is empty."""
        if name in self._literal:
            yield self._literal[name]
        yield from self._prefixes_of(name)
        if name != WILDCARD and WILDCARD in self._literal:
            yield self._literal[WILDCARD]

    def of(self, principal: str) -> Iterator[Acl]:
        """The entries of a principal, and those of everybody."""
        return applying(self._by_principal, principal)

    def candidates(self, wanted: AclFilter) -> Iterator[tuple[UUID, Acl]]:
        """The entries among which are all that a filter finds."""
        name, pattern = wanted.resource_name, wanted.pattern_type
        if name is None:
            found: Iterator[Mapping[str, dict[UUID, Acl]]] = iter((self._by_principal,))
        elif pattern is PatternType.MATCH:
            found = self.on(name)
        else:
            found = (each.get(name, _NONE) for each in (self._literal, self._prefixed))
        for by_principal in found:
            if wanted.principal is None:
                for entries in by_principal.values():
                    yield from entries.items()
            else:
                yield from by_principal.get(wanted.principal, _NO_ENTRIES).items()

    def _by_name(self, acl: Acl) -> dict[str, _OfPrincipals]:
        return self._literal if acl.pattern_type is PatternType.LITERAL else self._prefixed

    def _prefixes_of(self, name: str) -> Iterator[Mapping[str, dict[UUID, Acl]]]:
        if self._prefixed:
            for end in range(min(len(name), self._longest_prefix), -1, -1):
                found = self._prefixed.get(name[:end])
                if found is not None:
                    yield found


def applying(by_principal: Mapping[str, dict[UUID, Acl]], principal: str) -> Iterator[Acl]:
    """The entries of a principal, and those of everybody."""
    own = by_principal.get(principal, _NO_ENTRIES).values()
    if principal == WILDCARD_PRINCIPAL:
        return iter(own)
    return chain(own, by_principal.get(WILDCARD_PRINCIPAL, _NO_ENTRIES).values())


def _add(by_principal: _OfPrincipals, key: UUID, acl: Acl) -> None:
    by_principal.setdefault(acl.principal, {})[key] = acl


def _remove(by_principal: _OfPrincipals, key: UUID, acl: Acl) -> None:
    entries = by_principal[acl.principal]
    del entries[key]
    if not entries:
        del by_principal[acl.principal]
