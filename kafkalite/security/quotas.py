"""Client quotas in force: who is measured with whom, and how long a client has to wait.

A client is measured by the most specific quota that there is for it:

    user and client id,  user and default client id,  user,
    default user and client id,  default user and default client id,  default user,
    client id,  default client id

All clients that the same entry stands for by name share one measurement. Quotas are per node, as
in Kafka. Source: Kafka's ClientQuotaManager and its DefaultQuotaCallback,
ClientRequestQuotaManager, ControllerMutationQuotaManager (KIP-13, KIP-55, KIP-124, KIP-219,
KIP-599).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from math import inf
from typing import Final, TypeVar

from kafkalite.requests.hosts import host_text
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


def _entities(user: str, client_id: str) -> Iterator[tuple[Entity, str, str]]:
    """The entities that may hold a client's quota, and whom it is then measured with."""
    yield ((CLIENT_ID, client_id), (USER, user)), user, client_id
    yield ((CLIENT_ID, None), (USER, user)), user, client_id
    yield ((USER, user),), user, ""
    yield ((CLIENT_ID, client_id), (USER, None)), user, client_id
    yield ((CLIENT_ID, None), (USER, None)), user, client_id
    yield ((USER, None),), user, ""
    yield ((CLIENT_ID, client_id),), "", client_id
    yield ((CLIENT_ID, None),), "", client_id


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


class ClientQuota:
    """One kind of quota on one node: byte rates, request time or controller mutations."""

    def __init__(self, key: str, window: Window, longest_ms: float = inf) -> None:
        self._key = key
        self._window = window
        self._longest_ms = longest_ms
        self._quotas: Quotas = {}
        self._found: dict[tuple[str, str], _Found | None] = {}
        self._measured: dict[tuple[str, str], _Measurement] = {}
        self.is_active = False

    def replace(self, quotas: Quotas) -> None:
        """Put these quotas in force. What was measured stays."""
        self._quotas = {entity: values for entity, values in quotas.items() if self._key in values}
        self._found.clear()
        self.is_active = bool(self._quotas)

    def limit(self, user: str, client_id: str) -> float:
        """A client's quota; infinite if it has none."""
        found = self._find(user, client_id)
        return inf if found is None else found.limit

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

    def most_in_window(self, user: str, client_id: str) -> float:
        """The amount that a client may use in a whole window."""
        seconds = (self._window.samples - 1) * self._window.size_ms / 1000
        return self.limit(user, client_id) * seconds

    def tokens_short_ms(self, user: str, client_id: str, now_ms: int) -> int:
        """The time until a client's token bucket is no longer overdrawn."""
        found = self._find(user, client_id)
        if found is None:
            return 0
        return self._measurement(found).bucket.throttle_ms(found.limit, now_ms)

    def take_tokens(self, user: str, client_id: str, count: float, now_ms: int) -> None:
        """Take tokens out of a client's bucket, which may be overdrawn."""
        found = self._find(user, client_id)
        if found is not None:
            self._measurement(found).bucket.record(count, found.limit, now_ms)

    def _find(self, user: str, client_id: str) -> _Found | None:
        if not self._quotas:
            return None
        key = (user, client_id)
        if key in self._found:
            return self._found[key]
        found = self._look_up(user, client_id)
        if max(len(user), len(client_id)) <= _MAX_NAME:
            if len(self._found) >= _MAX_MEASUREMENTS:
                self._found.clear()
            self._found[key] = found
        return found

    def _look_up(self, user: str, client_id: str) -> _Found | None:
        for entity, measured_user, measured_client in _entities(user, client_id):
            values = self._quotas.get(entity)
            if values is not None:
                return _Found(values[self._key], _short(measured_user), _short(measured_client))
        return None

    def _measurement(self, found: _Found) -> _Measurement:
        return _latest(self._measured, (found.user, found.client_id), self._new_measurement)

    def _new_measurement(self) -> _Measurement:
        return _Measurement(Rate(self._window), TokenBucket(self._window))


def _short(name: str) -> str:
    if len(name) <= _MAX_NAME:
        return name
    return sha256(name.encode(errors="surrogatepass")).hexdigest()


class ConnectionRates:
    """Limits how often an address may connect (KIP-612)."""

    def __init__(self, window: Window) -> None:
        self._window = window
        self._by_address: dict[str, float] = {}
        self._default = inf
        self._rates: dict[str, Rate] = {}

    def replace(self, quotas: Quotas) -> None:
        """Put these quotas in force."""
        self._by_address = {}
        self._default = inf
        for entity, values in quotas.items():
            if CONNECTION_CREATION_RATE not in values or entity[0][0] != IP:
                continue
            address = entity[0][1]
            if address is None:
                self._default = values[CONNECTION_CREATION_RATE]
            else:
                self._by_address[host_text(address)] = values[CONNECTION_CREATION_RATE]
        if not self._by_address and self._default == inf:
            self._rates.clear()

    def throttle_ms(self, address: str, now_ms: int) -> int:
        """Count a connection; if it is one too many, the time to hold it before it is closed."""
        quota = self._by_address.get(address, self._default)
        if quota == inf:
            return 0
        rate = _latest(self._rates, address, lambda: Rate(self._window))
        rate.record(1.0, now_ms)
        wait_ms = rate.throttle_ms(quota, now_ms, self._window.size_ms)
        if wait_ms > 0:
            rate.record(-1.0, now_ms)  # one that is turned away does not count
        return wait_ms
