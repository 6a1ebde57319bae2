"""Tells whether a request meets a rule's criteria, which one it fails, and at which partitions
it matches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from kafkalite.control.faults.criteria import Predicate, predicate
from kafkalite.control.faults.passing import OF_CONTEXT, TOPICS
from kafkalite.control.faults.rule import RecordMatch, When
from kafkalite.control.problems import Problem
from kafkalite.control.secrets import without_secrets
from kafkalite.requests.names import Names, TopicName, listed, names_in, records_in, shown_topic
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import KafkaError, ProtocolViolation
from kafkalite.wire.record_batch import iterate_batches, iterate_records

if TYPE_CHECKING:
    from kafkalite.control.faults.passing import Naming
    from kafkalite.requests.context import RequestContext

# Kafka's name of an API ("EndTxn") by ours (END_TXN).
API_NAMES: Final = {key: key.message_name for key in ApiKey}
_KEYS: Final = {name.lower(): key for key, name in API_NAMES.items()}

# A topic's name and a partition; None where the request names the topic as a whole.
TopicPlace = tuple[str, int | None]


@dataclass(slots=True)
class Seen:
    """A request as rules see it. `topic_name` tells the name of a topic id, if there is one.

    `fetching` are the places that a Fetch asks for beside those it names: those of its
    session.
    """

    api_key: ApiKey
    version: int
    body: Any
    client_id: str = ""
    client_software: str = ""
    client_host: str = ""
    principal: str = ""
    node: int = 0
    listener: str = ""
    connection: str = ""
    correlation_id: int = -1
    topic_name: TopicName = field(default=lambda topic_id: None, repr=False)
    fetching: Callable[[], Iterable[TopicPlace]] = field(default=lambda: (), repr=False)
    _names: Names | None = field(default=None, repr=False)
    _places: list[TopicPlace] | None = field(default=None, repr=False)

    @property
    def names(self) -> Names:
        """Says what the request names."""
        if self._names is None:
            self._names = names_in(self.body, self.version)
        return self._names

    @property
    def places(self) -> list[TopicPlace]:
        """The partitions the request is about; ids that no topic has are shown as text."""
        if self._places is None:
            named = [
                (shown_topic(topic, self.topic_name), index) for topic, index in self.names.places
            ]
            self._places = list(dict.fromkeys([*named, *self.fetching()]))
        return self._places


@dataclass(frozen=True, slots=True)
class Matched:
    """A request that meets all criteria; `places` are the partitions that did, empty for all."""

    places: frozenset[TopicPlace]


@dataclass(frozen=True, slots=True)
class Missed:
    """A request that fails a criterion, and what it had instead."""

    criterion: str
    seen: tuple[object, ...]


def api_key(value: object) -> ApiKey:
    """The API of a name ("EndTxn", "END_TXN") or number. Raises Problem."""
    try:
        if isinstance(value, int):
            return ApiKey(value)
        return _KEYS[str(value).replace("_", "").lower()]
    except (KeyError, ValueError):
        raise Problem(
            "unknown_api",
            f"Kafka has no API {value!r}",
            value=value,
            hint='names are those of Kafka: "Produce", "EndTxn", "ConsumerGroupHeartbeat"',
        ) from None


def api_keys(value: object) -> frozenset[ApiKey] | None:
    """The APIs that `when.api` stands for; None for all. Raises Problem."""
    match value:
        case None | "*":
            return None
        case list() | tuple():
            return frozenset(api_key(each) for each in cast("list[object]", value))
        case str() if "*" in value:
            matches = predicate(value, field="api")
            return frozenset(key for key, name in API_NAMES.items() if matches(name))
        case Mapping():
            matches = predicate(cast(object, value), field="api")
            return frozenset(
                key for key, name in API_NAMES.items() if matches(name) or matches(int(key))
            )
        case _:
            return frozenset({api_key(value)})


# A criterion that compares one value of the request.
_PLAIN: Final[dict[str, Callable[[Seen], object]]] = {
    "version": lambda seen: seen.version,
    "client_id": lambda seen: seen.client_id,
    "client_software": lambda seen: seen.client_software,
    "client_host": lambda seen: seen.client_host,
    "principal": lambda seen: seen.principal,
    "node": lambda seen: seen.node,
    "listener": lambda seen: seen.listener,
}
# A criterion that compares any of several values: those that a request names of a kind.
_NAMED: Final = {
    "group": "groups",
    "member_id": "members",
    "group_instance_id": "instances",
    "transactional_id": "transactional_ids",
    "producer_id": "producers",
}


class Matcher:
    """The criteria of one rule, made ready. Raises Problem for those that mean nothing."""

    def __init__(self, when: When) -> None:
        self.api_keys = api_keys(when.api)
        self._plain = [
            (name, value, predicate(getattr(when, name), field=name))
            for name, value in _PLAIN.items()
            if getattr(when, name) is not None
        ]
        self._named = [
            (name, kind, predicate(getattr(when, name), field=name))
            for name, kind in _NAMED.items()
            if getattr(when, name) is not None
        ]
        self._topic = None if when.topic is None else predicate(when.topic, field="topic")
        self._partition = (
            None if when.partition is None else predicate(when.partition, field="partition")
        )
        self._paths = [
            (path, predicate(value, field=f"request.{path}"))
            for path, value in when.request.items()
        ]
        self._records = None if when.records is None else _RecordMatcher(when.records)
        self._first_only = when.connection == "first"
        self._connection = (
            None
            if when.connection is None or self._first_only
            else predicate(when.connection, field="connection")
        )
        self._bound = ""
        self._of_context = [(name, OF_CONTEXT[name], holds) for name, _, holds in self._plain]

    def missed_at_once(self, context: RequestContext, naming: Naming, body: Any) -> Missed | None:
        """Say as `match` does that a request misses, by who asks or by all that it names.

        None for every other, which may match.
        """
        for name, value_of, holds in self._of_context:
            if not holds(value := value_of(context)):
                return Missed(name, (value,))
        for name, kind, holds in self._named:
            values = naming.values(kind, context, body)
            if values is None:
                return None
            if not any(map(holds, values)):
                return Missed(name, tuple(dict.fromkeys(values)))
        if self._has_another_connection(context.client_address):
            return Missed("connection", (context.client_address,))
        if self._topic is None:
            return None
        topics = naming.values(TOPICS, context, body)
        if topics is None or any(map(self._topic, topics)):
            return None
        return Missed("topic", tuple(dict.fromkeys(topics)))

    def match(self, seen: Seen) -> Matched | Missed:
        """Matched, or the first criterion that does not hold. The API is not looked at."""
        for name, value_of, holds in self._plain:
            if not holds(value := value_of(seen)):
                return Missed(name, (value,))
        for name, kind, holds in self._named:
            values = tuple(getattr(seen.names, kind))
            if not any(holds(value) for value in values):
                return Missed(name, values)
        if self._has_another_connection(seen.connection):
            return Missed("connection", (seen.connection,))
        places = self._matched_places(seen)
        if isinstance(places, Missed):
            return places
        for path, holds in self._paths:
            at = path.split(".")
            if not any(holds(value) for value in values_at(seen.body, at)):
                shown = without_secrets(seen.body)
                return Missed(f"request.{path}", tuple(values_at(shown, at)))
        if self._records is not None and not self._records.any_in(seen.body):
            return Missed("records", ())
        if self._first_only:
            self._bound = seen.connection
        return Matched(places)

    def _has_another_connection(self, connection: str) -> bool:
        if self._connection is not None:
            return not self._connection(connection)
        return self._first_only and self._bound not in ("", connection)

    def _matched_places(self, seen: Seen) -> frozenset[TopicPlace] | Missed:
        if self._topic is None and self._partition is None:
            return frozenset()
        topics = seen.places
        if self._topic is not None:
            topics = [place for place in seen.places if self._topic(place[0])]
            if not topics:
                return Missed("topic", tuple(dict.fromkeys(name for name, _ in seen.places)))
        if self._partition is None:
            return frozenset(topics)
        partitions = [place for place in topics if self._partition(place[1])]
        if not partitions:
            return Missed("partition", tuple(dict.fromkeys(index for _, index in topics)))
        return frozenset(partitions)


def values_at(value: Any, path: list[str]) -> Iterable[object]:
    """The values at a path into a message; `*` goes through a list."""
    if not path:
        yield value
    elif (several := listed(value)) is not None:
        if path[0] == "*":
            for each in several:
                yield from values_at(each, path[1:])
        elif path[0].isdigit() and int(path[0]) < len(several):
            yield from values_at(several[int(path[0])], path[1:])
    elif value is not None and hasattr(value, path[0]):
        yield from values_at(getattr(value, path[0]), path[1:])


class _RecordMatcher:
    def __init__(self, match: RecordMatch) -> None:
        self._key: Predicate | None = (
            None if match.key is None else predicate(match.key, field="records.key")
        )
        self._contains = None if match.value_contains is None else match.value_contains.encode()
        self._headers = {
            name: predicate(value, field=f"records.header.{name}")
            for name, value in match.header.items()
        }

    def any_in(self, body: Any) -> bool:
        """Tells whether a record of the request meets all of it. Batches that cannot be read do
        not.
        """
        try:
            return any(
                self._holds(record)
                for _, batches in records_in(body)
                for batch in iterate_batches(batches)
                for record in iterate_records(batch)
            )
        except (KafkaError, ProtocolViolation, ValueError):
            return False

    def _holds(self, record: Any) -> bool:
        if self._key is not None and not self._key(_text(record.key)):
            return False
        if self._contains is not None and self._contains not in (record.value or b""):
            return False
        headers = [(_text(name), _text(value)) for name, value in record.headers]
        return all(
            any(name == wanted and holds(value) for name, value in headers)
            for wanted, holds in self._headers.items()
        )


def _text(value: bytes | str | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return bytes(value).decode("utf-8", "replace")
