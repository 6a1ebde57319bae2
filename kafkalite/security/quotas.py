"""Client quotas in force: who is measured with whom, and how long a client has to wait.

A client is measured by the most specific quota that there is for it:

    user and client id,  user and default client id,  user,
    default user and client id,  default user and default client id,  default user,
    client id,  default client id

All clients that the same entry stands for by name share one measurement. Once anybody has a quota
of a kind, all are measured by that kind, so that a quota that is set later counts for what was used
before. A client id that is empty is none: no quota that is for client ids, by name or by default,
holds its client. Quotas are per node, as in Kafka. Source: Kafka's ClientQuotaManager and its
DefaultQuotaCallback, ClientRequestQuotaManager, ControllerMutationQuotaManager (KIP-13, KIP-55,
KIP-124, KIP-219, KIP-599).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import inf, isnan
from types import MappingProxyType
from typing import Final, TypeVar

from kafkalite.requests.hosts import host_text, is_address
from kafkalite.security.rates import Rate, TokenBucket, Window

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"

PRODUCER_BYTE_RATE: Final = "producer_byte_rate"
CONSUMER_BYTE_RATE: Final = "consumer_byte_rate"
REQUEST_PERCENTAGE: Final = "request_percentage"
CONTROLLER_MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_CREATION_RATE: Final = "connection_creation_rate"

# Beyond this the measurement that was used last longest ago is forgotten.
_MAX_MEASUREMENTS: Final = 10_000
# The limit of a client without a quota, as Kafka measures it: the largest long.
_NO_LIMIT: Final = 2.0**63
# A client may give itself a name of any length; a longer one is kept as its hash.
_MAX_NAME: Final = 249

# ((type, name), ...) in order of type, as the metadata keeps it; name None is the default entity.
Entity = tuple[tuple[str, str | None], ...]
Quotas = Mapping[Entity, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class _Found:
    """The quota for a client, and whom it is measured with ("" stands for everybody)."""

    limit: float
    user: str
    client_id: str


# The kinds of entities, by what they name.
_BY_USER: Final = (USER,)
_BY_CLIENT_ID: Final = (CLIENT_ID,)
_BY_BOTH: Final = (CLIENT_ID, USER)


def _measured_entities(user: str, client_id: str) -> Iterator[tuple[Entity, tuple[str, str]]]:
    """The entities that a client may be measured by, and whom it is then measured with."""
    both = user, client_id
    yield ((CLIENT_ID, client_id), (USER, user)), both
    yield ((CLIENT_ID, None), (USER, user)), both
    yield ((USER, user),), (user, "")
    yield ((CLIENT_ID, client_id), (USER, None)), both
    yield ((CLIENT_ID, None), (USER, None)), both
    yield ((USER, None),), (user, "")


def _limiting_entities(user: str, client_id: str) -> Iterator[Entity]:
    """The entities that may hold the quota of clients that are measured together."""
    if user and client_id:
        yield from (
            ((CLIENT_ID, client), (USER, name))
            for name in (user, None)
            for client in (client_id, None)
        )
    elif user:
        yield from (((USER, name),) for name in (user, None))
    elif client_id:
        yield from (((CLIENT_ID, client),) for client in (client_id, None))


@dataclass(slots=True)
class _Measurement:
    rate: Rate
    bucket: TokenBucket


K = TypeVar("K")
V = TypeVar("V")


def _latest(kept: dict[K, V], key: K, make: Callable[[], V]) -> V:
    """The value of a key, which becomes the last to be forgotten."""
    value = kept.pop(key, None)
    if value is None:
        value = make()
        if len(kept) >= _MAX_MEASUREMENTS:
            del kept[next(iter(kept))]
    kept[key] = value
    return value


class Limits:
    """The quotas of one kind that are in force. All nodes share them."""

    def __init__(self, key: str) -> None:
        self._key = key
        self.by_entity: dict[Entity, float] = {}
        # The number of entities by what they name.
        self.kinds: Counter[tuple[str, ...]] = Counter()
        # Another one after each change.
        self.revision = 0

    def put(self, entity: Entity, values: Mapping[str, float]) -> None:
        """Put an entity's quotas in force, in place of those that it had."""
        kind = tuple(each for each, _ in entity)
        if self.by_entity.pop(entity, None) is not None:
            self.revision += 1
            self.kinds -= Counter([kind])
        limit = values.get(self._key)
        if limit is not None:
            self.revision += 1
            self.kinds[kind] += 1
            self.by_entity[entity] = limit


class ClientQuota:
    """One kind of quota on one node: byte rates, request time or controller mutations."""

    def __init__(self, limits: Limits, window: Window, longest_ms: int = 2**63 - 1) -> None:
        self._limits = limits
        self._window = window
        self._longest_ms = longest_ms
        self._found: dict[tuple[str, str], _Found] = {}
        self._found_in = limits.revision
        self._measured: dict[tuple[str, str], _Measurement] = {}

    @property
    def is_active(self) -> bool:
        """True if any client has such a quota."""
        return bool(self._limits.by_entity)

    def record(self, user: str, client_id: str, value: float, now_ms: int) -> int:
        """Add to what a client used; the time in milliseconds it has to wait, or 0."""
        found = self._find(user, client_id)
        if found is None:
            return 0
        rate = self._measurement(found).rate
        rate.record(value, now_ms)
        return rate.throttle_ms(found.limit, now_ms, self._longest_ms)

    def unrecord(self, user: str, client_id: str, value: float, now_ms: int) -> None:
        """Take back what was not used after all."""
        found = self._find(user, client_id)
        if found is not None:
            self._measurement(found).rate.record(-value, now_ms)

    def most_in_window(self, user: str, client_id: str) -> int:
        """The amount that a client may use in a whole window, as a Java int."""
        found = self._find(user, client_id)
        if found is None or found.limit == _NO_LIMIT:
            return as_java_int(_NO_LIMIT)
        return as_java_int(found.limit * (self._window.samples - 1) * self._window.size_ms / 1000)

    def tokens_short_ms(self, user: str, client_id: str, now_ms: int) -> int | None:
        """The time until a client's token bucket is no longer overdrawn; None if it is not."""
        found = self._find(user, client_id)
        if found is None:
            return None
        return self._measurement(found).bucket.throttle_ms(found.limit, now_ms)

    def take_tokens(self, user: str, client_id: str, count: float, now_ms: int) -> None:
        """Take tokens out of a client's bucket, which may be overdrawn."""
        found = self._find(user, client_id)
        if found is not None:
            self._measurement(found).bucket.record(count, found.limit, now_ms)

    def _find(self, user: str, client_id: str) -> _Found | None:
        if not self._limits.by_entity:
            return None
        if self._found_in != self._limits.revision:
            self._found_in = self._limits.revision
            self._found.clear()
        key = (user, client_id)
        if key in self._found:
            return self._found[key]
        found = self._look_up(user, client_id)
        if max(len(user), len(client_id)) <= _MAX_NAME:
            if len(self._found) >= _MAX_MEASUREMENTS:
                self._found.clear()
            self._found[key] = found
        return found

    def _look_up(self, user: str, client_id: str) -> _Found:
        who = self._measured_with(user, client_id)
        for entity in _limiting_entities(*who):
            limit = self._limits.by_entity.get(entity)
            if limit is not None:
                return _Found(limit, *map(_short, who))
        return _Found(_NO_LIMIT, *map(_short, who))

    def _measured_with(self, user: str, client_id: str) -> tuple[str, str]:
        kinds = self._limits.kinds
        if len(kinds) == 1:
            if _BY_CLIENT_ID in kinds:
                return "", client_id
            if _BY_USER in kinds:
                return user, ""
            if _BY_BOTH in kinds:
                return user, client_id
        for entity, who in _measured_entities(user, client_id):
            if entity in self._limits.by_entity:
                return who
        return "", client_id

    def _measurement(self, found: _Found) -> _Measurement:
        return _latest(self._measured, (found.user, found.client_id), self._new_measurement)

    def _new_measurement(self) -> _Measurement:
        return _Measurement(Rate(self._window), TokenBucket(self._window))


def as_java_int(value: float) -> int:
    """The number as an int of Java: the nearest one there is, and 0 for what is no number."""
    return 0 if isnan(value) else int(max(-(2.0**31), min(value, 2.0**31 - 1)))


def _short(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    return sha256(name.encode(errors="surrogatepass")).hexdigest()


def named_hosts(entities: Iterable[Iterable[tuple[str, str | None]]]) -> set[str]:
    """The hosts that entities name, other than by their addresses."""
    names = {name for entity in entities for kind, name in entity if kind == IP and name}
    return {name for name in names if not is_address(name)}


class AddressLimits:
    """The limits of connections by address. All nodes share them."""

    def __init__(self) -> None:
        self.default: float = inf
        # By name: a host may be named by several, and the last one counts.
        self._by_address: dict[str, dict[str, float]] = {}
        self._addresses: dict[str, str] = {}

    def put(
        self,
        entity: Entity,
        values: Mapping[str, float],
        addresses: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Put an entity's quota in force. `addresses` has those of the hosts that are named."""
        if entity[0][0] != IP:
            return
        name = entity[0][1]
        value = values.get(CONNECTION_CREATION_RATE)
        if name is None:
            self.default = inf if value is None else as_java_int(value)
            return
        address = self._addresses.pop(name, None)
        if address is not None:
            named = self._by_address[address]
            del named[name]
            if not named:
                del self._by_address[address]
        if value is not None:
            address = self._addresses[name] = host_text(addresses.get(name, name))
            self._by_address.setdefault(address, {})[name] = as_java_int(value)

    def of(self, address: str) -> float:
        """The limit of an address."""
        named = self._by_address.get(address)
        return self.default if named is None else named[next(reversed(named))]


class ConnectionRates:
    """Limits how often an address may connect (KIP-612). What was measured stays, as long as it
    counts."""

    def __init__(self, limits: AddressLimits, window: Window) -> None:
        self._limits = limits
        self._window = window
        self._rates: dict[str, Rate] = {}

    def throttle_ms(self, address: str, now_ms: int) -> int:
        """Count a connection; if it is one too many, the time to hold it before it is closed."""
        quota = self._limits.of(address)
        if quota == inf:
            return 0
        rate = _latest(self._rates, address, lambda: Rate(self._window))
        rate.record(1.0, now_ms)
        wait_ms = rate.throttle_ms(quota, now_ms, self._window.size_ms)
        if wait_ms > 0:
            rate.record(-1.0, now_ms)  # one that is turned away does not count
        return wait_ms
