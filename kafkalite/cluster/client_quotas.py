"""Client quotas as they are stored: what may be set for whom (KIP-546, KIP-612).

Source: Kafka's ClientQuotaControlManager and ClientQuotasImage.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkalite.cluster.image import QuotaEntity
from kafkalite.requests.hosts import is_address
from kafkalite.requests.slices import Steps, batches, in_order, mapped, release_dict
from kafkalite.security.quotas import (
    CLIENT_ID,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    USER,
)
from kafkalite.wire.errors import ErrorCode, KafkaError, invalid_request
from kafkalite.wire.java_order import in_map_order, map_bucket
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord, EntityData

if TYPE_CHECKING:
    from kafkalite.cluster.cluster import Cluster

_TYPES: Final = (USER, CLIENT_ID, IP)
MOST_TYPES: Final = len(_TYPES)

# The largest long as a double, by which a value is compared with it.
_MAX_LONG: Final = 2.0**63
_MAX_INT: Final = 2.0**31 - 1

# key: the largest whole number it takes; None where it takes fractions
_USER_KEYS: Final[Mapping[str, float | None]] = {
    PRODUCER_BYTE_RATE: _MAX_LONG,
    CONSUMER_BYTE_RATE: _MAX_LONG,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
_MOST_ORDERED_LIKE_JAVA: Final = 16
_IP_KEYS: Final[Mapping[str, float | None]] = {CONNECTION_CREATION_RATE: _MAX_INT}


@dataclass(frozen=True, slots=True)
class QuotaChange:
    """A new value for a key, None to remove it."""

    key: str
    value: float | None


def entity_of(parts: Iterable[tuple[str, str | None]]) -> Steps[QuotaEntity]:
    """The entity that is named, in the order of a Java map; of a type named twice the last name
    counts."""
    names: dict[str, str | None] = {}
    count = 0
    for some in batches(parts):
        names.update(some)
        count += len(some)
        yield
    if len(names) <= _MOST_ORDERED_LIKE_JAVA:
        types = in_map_order(names, room_for=count)
    else:  # more than there are types: it is refused
        types = yield from in_order([*names])
    entity = tuple((yield from mapped(lambda kind: (kind, names[kind]), types)))
    yield from release_dict(names)
    return entity


def named_twice(entity: QuotaEntity) -> Steps[KafkaError]:
    """The error for an entity, or a key of it, that a request names more than once."""
    parts = yield from mapped(
        lambda part: f"{part[0]}={'null' if part[1] is None else part[1]}", entity
    )
    names = ", ".join(parts)
    return invalid_request(f"Ignoring duplicate entity ClientQuotaEntity(entries={{{names}}})")


def plan_quota_changes(
    cluster: Cluster,
    entity: QuotaEntity,
    changes: Iterable[QuotaChange],
    addresses: Mapping[str, str],
) -> Steps[list[object]]:
    """The records for changed quotas of one entity. `addresses` has those of hosts that may be
    named. Raises KafkaError(INVALID_REQUEST): of several errors the one that Kafka meets first, in
    the order of a hash table."""
    by_key: dict[str, QuotaChange] = {}
    for change in changes:
        yield
        if change.key in by_key:
            raise (yield from named_twice(entity))
        by_key[change.key] = change
    keys = _keys_for(entity, addresses)
    present = cluster.image.quotas.get(entity, {})
    records: dict[str, ClientQuotaRecord] = {}
    refused: tuple[int, KafkaError] | None = None
    for change in by_key.values():
        yield
        if change.value is not None:
            try:
                _check_value(keys, change.key, change.value)
            except KafkaError as error:
                bucket = map_bucket(change.key, len(by_key), room_for=len(by_key))
                if refused is None or bucket < refused[0]:
                    refused = bucket, error
        if present.get(change.key) != change.value:
            records[change.key] = _record(entity, change)
    if refused is not None:
        raise refused[1]
    # The image keeps keys of one bucket in the order in which they came: those that go make room
    # first, as Kafka makes the new table at once.
    came = [records[key] for key in in_map_order(records)]
    came.sort(key=lambda record: not record.remove)
    return [*came]


def _keys_for(parts: QuotaEntity, addresses: Mapping[str, str]) -> Mapping[str, float | None]:
    if not parts:
        raise invalid_request("Invalid empty client quota entity")
    for entity_type, name in parts:
        if entity_type not in _TYPES:
            raise invalid_request(f"Unhandled client quota entity type: {entity_type}")
        if name == "":
            raise invalid_request(f"Empty {entity_type} not supported")
    entity = dict(parts)
    if IP not in entity:
        return _USER_KEYS
    if len(entity) > 1:
        raise invalid_request(
            # In Kafka's very words.
            "Invalid quota entity combination, IP entity shouldnot be combined with User or "
            "ClientId"
        )
    address = entity[IP]
    if address is not None and not is_address(address) and not addresses.get(address):
        raise invalid_request(f"{address} is not a valid IP or resolvable host.")
    return _IP_KEYS


def _check_value(keys: Mapping[str, float | None], key: str, value: float) -> None:
    if key not in keys:
        raise invalid_request(f"Invalid configuration key {key}")
    if value <= 0:
        raise invalid_request(f"Quota {key} must be greater than 0")
    largest = keys[key]
    if largest is None:
        return
    if value > largest:
        kind = "a LONG" if largest == _MAX_LONG else "an INT"
        raise invalid_request(f"Proposed value for {key} is too large for {kind}.")
    if abs(value % 1.0) > 1e-6:
        raise invalid_request(f"{key} cannot be a fractional value.")


def _record(entity: Sequence[tuple[str, str | None]], change: QuotaChange) -> ClientQuotaRecord:
    return ClientQuotaRecord(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        key=change.key,
        value=change.value or 0.0,
        remove=change.value is None,
    )


EXACT, DEFAULT, SPECIFIED = range(3)


@dataclass(frozen=True, slots=True)
class QuotaFilter:
    """The part of an entity that must match: this name, the default, or any."""

    entity_type: str
    match_type: int
    match: str | None


def matching_quotas(
    quotas: Mapping[QuotaEntity, Mapping[str, float]],
    filters: Sequence[QuotaFilter],
    *,
    strict: bool,
) -> Steps[list[tuple[QuotaEntity, Mapping[str, float]]]]:
    """The quotas of all entities that pass; `strict`: and have nothing but what is asked for.

    Raises KafkaError: INVALID_REQUEST, UNSUPPORTED_VERSION for an unknown type.
    """
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for item in filters:
        _check_filter(item, {*exact, *any_name})
        if item.match_type == SPECIFIED:
            any_name.add(item.entity_type)
        else:
            exact[item.entity_type] = item.match
    asked = {*exact, *any_name}
    if IP in asked and len(asked) > 1:
        raise invalid_request(
            "Invalid entity filter component combination. IP filter component should not be used "
            "with user or clientId filter component."
        )
    found: list[tuple[QuotaEntity, Mapping[str, float]]] = []
    for some in batches(tuple(quotas.items())):
        found += (each for each in some if _matches(dict(each[0]), exact, any_name, strict))
        yield
    return found


def _check_filter(item: QuotaFilter, seen: set[str]) -> None:
    if not item.entity_type:
        raise invalid_request("Invalid empty entity type.")
    if item.entity_type in seen:
        raise invalid_request(
            f"Entity type {item.entity_type} cannot appear more than once in the filter."
        )
    if item.entity_type not in _TYPES:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {item.entity_type}"
        )
    if item.match_type == EXACT and item.match is None:
        raise invalid_request("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if item.match_type in (DEFAULT, SPECIFIED) and item.match is not None:
        name = "DEFAULT" if item.match_type == DEFAULT else "SPECIFIED"
        raise invalid_request(
            f"Request specified MATCH_TYPE_{name}, but also specified a match string."
        )
    if item.match_type not in (EXACT, DEFAULT, SPECIFIED):
        raise invalid_request(f"Unknown match type {item.match_type}")


def _matches(
    entity: Mapping[str, str | None],
    exact: Mapping[str, str | None],
    any_name: set[str],
    strict: bool,
) -> bool:
    if strict and len(entity) != len(exact) + len(any_name):
        return False
    if any(kind not in entity or entity[kind] != name for kind, name in exact.items()):
        return False
    return any_name <= entity.keys()
