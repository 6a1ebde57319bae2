"""A look at a request before it is made a message: what no rule can match passes by.

Looked at is who asks, and which topics, groups, members, ids and producers a row names. Where that
is not enough to tell, the request is matched as a whole (matching.py), which finds the same
criterion first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

from kafkalite.requests.names import TopicName, listed, name_field, plan_of, shown_topic
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.fields import NO_UUID, records
from kafkalite.wire.schema import fields_of

if TYPE_CHECKING:
    from kafkalite.requests.context import RequestContext

Get = Callable[[Any], Any]
# All that structs name of one kind.
Find = Callable[[list[Any]], list[Any]]
# The topics, by id or name, that a request is about without naming them.
Unnamed = Callable[["RequestContext", Any], Iterable[str | UUID]]

TOPICS: Final = "topics"
# The values that criteria compare, in the context of a request.
OF_CONTEXT: Final[dict[str, Callable[[RequestContext], object]]] = {
    "version": lambda context: context.api_version,
    "client_id": lambda context: context.client_id,
    "client_software": lambda context: context.software,
    "client_host": lambda context: context.client_host,
    "principal": lambda context: str(context.principal),
    "node": lambda context: context.node_id,
    "listener": lambda context: context.listener_name,
}


class Naming:
    """Tells what the requests of one API name, as rows or messages."""

    def __init__(
        self,
        class_: type[Any],
        *,
        in_rows: bool,
        topic_name: TopicName,
        unnamed: Unnamed | None = None,
    ) -> None:
        """`unnamed` tells of topics that are not in the request."""
        self._class = class_
        self._topic_name = topic_name
        self._unnamed = unnamed
        self._field = _in_row if in_rows else _in_message
        self._finds: dict[tuple[str, int], Find | None] = {}

    def values(self, kind: str, context: RequestContext, body: Any) -> list[Any] | None:
        """All of a kind (one in requests/names.py) that a request names; None if it takes more."""
        key = kind, context.api_version
        try:
            find = self._finds[key]
        except KeyError:
            find = self._finds[key] = self._find(self._class, *key)
        if find is None:
            return None
        found = find([body])
        if kind == TOPICS and self._unnamed is not None:
            found += [shown_topic(each, self._topic_name) for each in self._unnamed(context, body)]
        return found

    def _find(self, class_: type[Any], kind: str, version: int) -> Find | None:
        declared = {each.name: each for each in fields_of(class_)}
        # A producer id may be in a batch; and what a coordinator's key is, depends.
        if kind != TOPICS and "coordinator_keys" in declared:
            return None
        if kind == "producers" and any(each.element is records for each in declared.values()):
            return None
        inner: list[tuple[Get, Find]] = []
        for each in plan_of(class_, version).inner:
            find = self._find(cast("type[Any]", each.element), kind, version)
            if find is None:
                return None
            if find is not _nothing:
                inner.append((self._field(class_, each.name), find))
        own = self._own(class_, kind, version)
        return _all_of(own, inner) if own or inner else _nothing

    def _own(self, class_: type[Any], kind: str, version: int) -> list[Get]:
        """The fields of a struct itself."""
        plan = plan_of(class_, version)
        if kind != TOPICS:
            return [self._field(class_, name) for known, name in plan.lists if known == kind]
        own = [self._field(class_, name) for name in plan.topic_lists]
        if plan.has_resource:
            resource = (self._field(class_, f"resource_{each}") for each in ("type", "name"))
            own.append(_topic_of_resource(*resource))
        if plan.is_topic:
            own.append(self._topic(class_))
        return own

    def _topic(self, class_: type[Any]) -> Get:
        declared = {each.name for each in fields_of(class_)}
        by_name = self._field(class_, name) if (name := name_field(declared)) else None
        by_id = self._field(class_, "topic_id") if "topic_id" in declared else None

        def name_of(topic: Any) -> str:
            if by_id is not None and (topic_id := by_id(topic)) != NO_UUID:
                return shown_topic(topic_id, self._topic_name)
            return "" if by_name is None else by_name(topic) or ""

        return name_of


def _in_row(class_: type[Any], name: str) -> Get:
    return itemgetter([each.name for each in fields_of(class_)].index(name))


def _in_message(_: type[Any], name: str) -> Get:
    return attrgetter(name)


def _nothing(_: list[Any]) -> list[Any]:
    return []


def _all_of(own: list[Get], inner: list[tuple[Get, Find]]) -> Find:
    def find(bodies: list[Any]) -> list[Any]:
        found: list[Any] = []
        for body in bodies:
            for get in own:
                value = get(body)
                if type(value) is list:
                    found += value
                elif value is not None:
                    found.append(value)
            for get, find_in in inner:
                inside = get(body)
                several = listed(inside)
                if several is not None:
                    found += find_in(several)
                elif inside is not None:
                    found += find_in([inside])
        return found

    return find


def _topic_of_resource(type_of: Get, name_of: Get) -> Get:
    return lambda body: name_of(body) if type_of(body) == TOPIC_RESOURCE else None
