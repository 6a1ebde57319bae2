"""The parts of the rules of authorization; the table of them is `table.py`.

A rule looks at a request and gives a Verdict: handle it, or handle what is left of it and finish
the response, or respond without handling it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Protocol
from uuid import UUID

from kafkalite.security.access import Access
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.refusals import Mirror, mirror_of, refuse, refused
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode


class Topics(Protocol):
    """The topics there are, as far as rules need them."""

    @property
    def creates_topics(self) -> bool:
        """True if asking for a topic may create it."""
        ...

    def name_of(self, topic_id: UUID) -> str | None:
        """The name of a topic, None if there is no such topic."""
        ...

    def id_of(self, name: str) -> UUID | None:
        """The reverse."""
        ...

    def has_partition(self, name: str, index: int) -> bool:
        """True if a partition exists."""
        ...


@dataclass(slots=True)
class Asked:
    """A request, and what rules may know beside it."""

    api_key: ApiKey
    version: int
    request: Any
    access: Access
    topics: Topics


@dataclass(slots=True)
class Verdict:
    """The decision about a request.

    `is_final`: `response` is it, None for none at all. Else `request` is to be handled, and the
    response to go through `finish`.
    """

    request: Any = None
    response: Any = None
    is_final: bool = False
    finish: Callable[[Any], Any] | None = None


Rule = Callable[[Asked], Verdict]


def handled(asked: Asked, finish: Callable[[Any], Any] | None = None) -> Verdict:
    """Handle the request as it is."""
    return Verdict(asked.request, finish=finish)


def refused_whole(asked: Asked, code: ErrorCode, message: str | None = None) -> Verdict:
    """Respond with this error to everything."""
    response = refuse(asked.api_key, asked.version, asked.request, code, message)
    return Verdict(response=response, is_final=True)


@dataclass(frozen=True, slots=True)
class Need:
    """An operation on a type of resource, and the error where it is not allowed."""

    operation: Operation
    resource_type: ResourceType
    error: ErrorCode


_ERRORS = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}


def need(operation: Operation, resource_type: ResourceType) -> Need:
    """A need with the error of its type of resource."""
    return Need(operation, resource_type, _ERRORS[resource_type])


def cluster(operation: Operation, *, says_why: bool = True) -> Rule:
    """The operation on the cluster, or nothing of the request is done."""

    def rule(asked: Asked) -> Verdict:
        if asked.access.may(operation, ResourceType.CLUSTER):
            return handled(asked)
        message = None
        if says_why:
            message = f"Request {asked.api_key.name} needs {operation.name} permission."
        return refused_whole(asked, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, message)

    return rule


def whole(wanted: Need, name: str) -> Rule:
    """The operation on the resource that a field of the request names, or nothing is done."""

    def rule(asked: Asked) -> Verdict:
        resource = getattr(asked.request, name) or ""
        if asked.access.may(wanted.operation, wanted.resource_type, resource):
            return handled(asked)
        return refused_whole(asked, wanted.error)

    return rule


def all_of(*rules: Rule) -> Rule:
    """One rule after the other, until one is not content; only the last may change anything."""

    def rule(asked: Asked) -> Verdict:
        verdict = handled(asked)
        for each in rules:
            verdict = each(asked)
            if verdict.is_final:
                return verdict
        return verdict

    return rule


class Place(Enum):
    """The place of refused elements in a response."""

    FIRST = "first"
    LAST = "last"
    AS_ASKED = "as asked"


NameOf = Callable[[Asked, Any], str | None]


def named(attribute: str) -> NameOf:
    """The name of an element: one of its fields, or the element itself."""

    def name(asked: Asked, element: Any) -> str | None:
        value: str | None = element if not attribute else getattr(element, attribute)
        return value

    return name


_TOPIC_NAME: Final = re.compile(r"(?!\.\.?$)[a-zA-Z0-9._-]{1,249}")


def valid_topic_name(asked: Asked, element: Any) -> str | None:
    """The name of a topic; None for one that no topic may have."""
    name: str = element.name
    return name if _TOPIC_NAME.fullmatch(name) else None


def topic_by_name_or_id(asked: Asked, element: Any) -> str | None:
    """The name of a topic that is given by name or id; None for an unknown id."""
    return element.name or asked.topics.name_of(element.topic_id)


@dataclass(frozen=True, slots=True)
class Each:
    """The operation for each element of a list, or that element is refused.

    An element without a name is left to the handler, which knows what is wrong with it.
    """

    wanted: Need
    name_of: NameOf
    place: Place = Place.LAST
    message: str | None = None

    def __call__(self, asked: Asked) -> Verdict:
        mirror = mirror_of(asked.api_key, asked.request)
        assert mirror is not None, asked.api_key
        elements: Sequence[Any] | None = getattr(asked.request, mirror.asked)
        if not elements:
            return handled(asked)
        wanted = self.wanted
        names = [self.name_of(asked, element) for element in elements]
        allowed = asked.access.allowed(
            wanted.operation, wanted.resource_type, [name for name in names if name is not None]
        )
        if all(name is None or name in allowed for name in names):
            return handled(asked)
        kept = [
            element
            for element, name in zip(elements, names, strict=True)
            if name is None or name in allowed
        ]
        denied = {
            index: refused(asked.api_key, mirror, element, wanted.error, self.message)
            for index, (element, name) in enumerate(zip(elements, names, strict=True))
            if name is not None and name not in allowed
        }
        rest = replace(asked.request, **{mirror.asked: kept})

        def finish(response: Any) -> Any:
            return self._merged(response, mirror, denied)

        return Verdict(rest, finish=finish)

    def _merged(self, response: Any, mirror: Mirror, denied: dict[int, Any]) -> Any:
        # No response at all, or one that says an error of the whole.
        if response is None or getattr(response, "error_code", ErrorCode.NONE) != ErrorCode.NONE:
            return response
        answered: list[Any] = getattr(response, mirror.answered)
        if self.place is Place.LAST:
            merged = [*answered, *denied.values()]
        elif self.place is Place.FIRST:
            merged = [*denied.values(), *answered]
        else:
            merged = list(answered)
            for index, refusal in denied.items():
                merged.insert(min(index, len(merged)), refusal)
        # The response may be kept and given to others.
        return replace(response, **{mirror.answered: merged})


def shown_if(attribute: str, is_shown: Callable[[Asked, Any], bool]) -> Rule:
    """Elements of a list of the response are left out in silence where they may not be seen."""

    def rule(asked: Asked) -> Verdict:
        def finish(response: Any) -> Any:
            elements = getattr(response, attribute)
            return replace(
                response, **{attribute: [each for each in elements if is_shown(asked, each)]}
            )

        return handled(asked, finish)

    return rule
