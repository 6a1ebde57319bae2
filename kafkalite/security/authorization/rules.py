"""The parts of the rules of authorization; the table of them is `table.py`.

A rule looks at a request and gives a Verdict: handle it, or handle what is left of it and finish
the response, or respond without handling it. Both go in steps: a request may name 100,000 topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID

from kafkalite.requests.mirrors import Mirror, each_once, mirror_of
from kafkalite.requests.refusals import refuse_in_steps, refused
from kafkalite.requests.slices import Steps, counted, mapped, release, release_set
from kafkalite.requests.topic_names import is_topic_name
from kafkalite.security.access import Access
from kafkalite.security.acls import Operation, ResourceType
from kafkalite.security.authorization.places import Place, placed
from kafkalite.wire.api_keys import (
    OFFSET_COMMIT_BY_ID_SINCE,
    OFFSET_FETCH_BY_ID_SINCE,
    PRODUCE_BY_ID_SINCE,
    ApiKey,
)
from kafkalite.wire.errors import ErrorCode

A = TypeVar("A")


class Topics(Protocol):
    """The topics there are, as far as rules need them."""

    @property
    def creates_topics(self) -> bool:
        """True if asking for a topic may create it."""
        ...

    def names(self) -> Iterable[str]:
        """The names of all topics."""
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
    security_protocol: str = "PLAINTEXT"
    node_id: int = 1
    # Controllers in other processes decide, and authorize.
    forwards: bool = False


@dataclass(slots=True)
class Verdict:
    """The decision about a request.

    `is_final`: `response` is the answer, None if there is none. Else `request` is handled, and the
    response goes through `finish`.
    """

    request: Any = None
    response: Any = None
    is_final: bool = False
    finish: Finish | None = None


Finish = Callable[[Any], Steps[Any]]
Rule = Callable[[Asked], Steps[Verdict]]


def handled(asked: Asked, finish: Finish | None = None) -> Verdict:
    """Handle the request as it is."""
    return Verdict(asked.request, finish=finish)


def refused_whole(
    asked: Asked, code: ErrorCode, message: str | None = None, *, insists: bool = False
) -> Steps[Verdict]:
    """Respond with this error to everything."""
    response = yield from refuse_in_steps(
        asked.api_key, asked.version, asked.request, code, message, insists=insists
    )
    return Verdict(response=response, is_final=True)


def refused_one(
    asked: Asked,
    element: Any,
    code: ErrorCode,
    message: str | None = None,
    *,
    is_inner: bool = False,
) -> Steps[Any]:
    """The answer to one element of the request, or of such an element (`is_inner`)."""
    mirror = mirror_of(asked.api_key, asked.request)
    assert mirror is not None
    version = asked.version
    return refused(
        asked.api_key, mirror, element, code, message, version=version, is_inner=is_inner
    )


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


def cluster(operation: Operation, *, says_why: bool = True, message: str | None = None) -> Rule:
    """The operation on the cluster, or nothing of the request is done.

    `message` is told, in any case, if it does not say why.
    """

    def rule(asked: Asked) -> Steps[Verdict]:
        if asked.access.may(operation, ResourceType.CLUSTER):
            return handled(asked)
        told = message
        if says_why:
            told = f"Request {asked.api_key.name} needs {operation.name} permission."
        code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return (yield from refused_whole(asked, code, told, insists=not says_why))

    return rule


def whole(wanted: Need, name: str) -> Rule:
    """The operation on the resource that a field of the request names, or nothing is done."""

    def rule(asked: Asked) -> Steps[Verdict]:
        resource = getattr(asked.request, name) or ""
        if asked.access.may(wanted.operation, wanted.resource_type, resource):
            return handled(asked)
        return (yield from refused_whole(asked, wanted.error))

    return rule


def all_of(*rules: Rule) -> Rule:
    """One rule after the other, until one is not content; only the last may change anything."""

    def rule(asked: Asked) -> Steps[Verdict]:
        verdict = handled(asked)
        for each in rules:
            verdict = yield from each(asked)
            if verdict.is_final:
                return verdict
        return verdict

    return rule


NameOf = Callable[[Asked, Any], str | None]


def named(attribute: str) -> NameOf:
    """The name of an element: one of its fields, or the element itself."""

    def name(asked: Asked, element: Any) -> str | None:
        value: str | None = element if not attribute else getattr(element, attribute)
        return value

    return name


def valid_topic_name(asked: Asked, element: Any) -> str | None:
    """The name of a topic; None for one that no topic may have."""
    name: str = element.name
    return name if is_topic_name(name) else None


_BY_ID_SINCE: Final = {
    ApiKey.PRODUCE: PRODUCE_BY_ID_SINCE,
    ApiKey.OFFSET_COMMIT: OFFSET_COMMIT_BY_ID_SINCE,
    ApiKey.OFFSET_FETCH: OFFSET_FETCH_BY_ID_SINCE,
}


def topic_by_name_or_id(asked: Asked, element: Any) -> str | None:
    """The name of a topic that is given by name or id; None for an unknown id."""
    if asked.version >= _BY_ID_SINCE[asked.api_key]:
        return asked.topics.name_of(element.topic_id)
    name: str = element.name
    return name


@dataclass(frozen=True, slots=True)
class Each:
    """The operation for each element of a list, or that element is refused.

    An element without a name is left to the handler, which knows what is wrong with it; with
    `each_once` one whose name comes again, too. `refused_once`: what is refused is so once, however
    often it is named.
    """

    wanted: Need
    name_of: NameOf
    place: Place = Place.LAST
    message: str | None = None
    each_once: bool = False
    refused_once: bool = False

    def __call__(self, asked: Asked) -> Steps[Verdict]:
        mirror = mirror_of(asked.api_key, asked.request)
        assert mirror is not None, asked.api_key
        elements: Sequence[Any] | None = getattr(asked.request, mirror.asked)
        if not elements:
            return handled(asked)
        wanted = self.wanted
        names = yield from mapped(lambda element: self.name_of(asked, element), elements)
        if self.each_once:
            counts = yield from counted(names)
            names = yield from mapped(lambda name: name if counts[name] == 1 else None, names)
        allowed = yield from asked.access.allowed(
            wanted.operation, wanted.resource_type, (name for name in names if name is not None)
        )
        kept: list[Any] = []
        others: dict[int, Any] = {}
        for index, (element, name) in enumerate(zip(elements, names, strict=True)):
            if name is None or name in allowed:
                kept.append(element)
            else:
                others[index] = element
            yield
        if not others:
            yield from release_set(allowed)
            yield from release([kept, names])
            return handled(asked)
        if self.refused_once:
            once = yield from each_once(mirror, others.values())
            others = dict(zip(others, once, strict=False))
        denied: dict[int, Any] = {}
        for index, element in others.items():
            denied[index] = yield from refused(
                asked.api_key, mirror, element, wanted.error, self.message
            )
            yield
        rest = replace(asked.request, **{mirror.asked: kept})
        finish = partial(self._merge, mirror, elements, denied)
        return Verdict(rest, finish=finish)

    def _merge(
        self, mirror: Mirror, elements: Sequence[Any], denied: dict[int, Any], response: Any
    ) -> Steps[Any]:
        if getattr(response, "error_code", ErrorCode.NONE) != ErrorCode.NONE:
            return response
        answered: list[Any] = getattr(response, mirror.answered)
        merged = yield from placed(self.place, mirror, elements, answered, denied)
        # The response may be kept and given to others.
        return replace(response, **{mirror.answered: merged})


def shown_if(attribute: str, is_shown: Callable[[Asked, Any], bool]) -> Rule:
    """Elements of a list of the response are left out in silence where they may not be seen."""

    def finish(asked: Asked, response: Any) -> Steps[Any]:
        shown = yield from kept_if(partial(is_shown, asked), getattr(response, attribute))
        return replace(response, **{attribute: shown})

    return finished_by(finish)


def kept_if(is_kept: Callable[[A], bool], elements: Iterable[A]) -> Steps[list[A]]:
    """The elements for which it is so."""
    kept: list[A] = []
    for element in elements:
        if is_kept(element):
            kept.append(element)
        yield
    return kept


def finished_by(finish: Callable[[Asked, Any], Steps[Any]], rule: Rule | None = None) -> Rule:
    """The rule, or none, and then `finish` for the response of the handler.

    `rule` finishes it before, with what it refused itself.
    """

    def finished(asked: Asked) -> Steps[Verdict]:
        verdict = handled(asked) if rule is None else (yield from rule(asked))
        if verdict.is_final:
            return verdict
        merge = verdict.finish

        def both(response: Any) -> Steps[Any]:
            if merge is not None:
                response = yield from merge(response)
            return (yield from finish(asked, response))

        return replace(verdict, finish=both)

    return finished
