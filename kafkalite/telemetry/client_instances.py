"""Client instances: the clients that ask which metrics they shall push, as one node knows them.

An instance is known for as long as the connection over which it was first heard of, or its
subscriptions last changed, is open, and is forgotten when it is silent for three push intervals.
Source of all rules: Kafka's ClientMetricsManager and ClientMetricsInstance (KIP-714).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final
from uuid import UUID, uuid4

from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.kafka_uuid import kafka_uuid

if TYPE_CHECKING:
    from kafkalite.requests.context import ClientConnection, RequestContext
    from kafkalite.requests.slices import WaitingSteps
    from kafkalite.telemetry.subscriptions import Subscriptions, Wanted
    from kafkalite.wire.messages.push_telemetry import PushTelemetryRequest

_ZERO: Final = UUID(int=0)
_RESERVED: Final = (_ZERO, UUID(int=1))
_MOST_INSTANCES: Final = 16_384
_LEAST_LIFE_MS: Final = 60_000
_INTERVALS_OF_SILENCE: Final = 3
# A client that met one of these may ask again at once.
_ASK_AGAIN: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


@dataclass(slots=True)
class ClientInstance:
    """One client. Times are in milliseconds since the epoch, 0 before the first."""

    client_instance_id: UUID
    attributes: Mapping[str, str]
    wanted: Wanted
    last_get_ms: int = 0
    last_push_ms: int = 0
    is_terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE
    expires_at_ms: int = 0

    @property
    def subscription_id(self) -> int:
        return subscription_id(self.client_instance_id, self.wanted)

    def gets(self, now_ms: int) -> bool:
        """True, and noted, if it may ask for its subscriptions."""
        if now_ms - max(self.last_get_ms, self.last_push_ms) < self.wanted.interval_ms:
            return False
        self.last_get_ms = now_ms
        return True

    def pushes(self, now_ms: int) -> bool:
        """True, and noted, if it may push: one interval after the last time, or after it asked."""
        has_asked = self.last_get_ms > self.last_push_ms
        if not has_asked and now_ms - self.last_push_ms < self.wanted.interval_ms:
            return False
        self.last_push_ms = now_ms
        return True


class ClientInstances:
    """The client instances of one node, and what they may do."""

    def __init__(
        self,
        subscriptions: Subscriptions,
        now_ms: Callable[[], int],
        max_bytes: int,
        new_uuid: Callable[[], UUID] = uuid4,
    ) -> None:
        """`max_bytes` is telemetry.max.bytes."""
        self._new_uuid = new_uuid
        self._subscriptions = subscriptions
        self._now_ms = now_ms
        self._max_bytes = max_bytes
        # The one that was not heard of for longest comes first.
        self._instances: OrderedDict[UUID, ClientInstance] = OrderedDict()
        self._known_by: dict[ClientConnection, UUID] = {}

    def __len__(self) -> int:
        now_ms = self._now_ms()
        return sum(each.expires_at_ms > now_ms for each in self._instances.values())

    def getting(
        self, context: RequestContext, client_instance_id: UUID
    ) -> WaitingSteps[ClientInstance]:
        """The instance that asks for its subscriptions; a new one if its id is zero.

        Raises KafkaError(THROTTLING_QUOTA_EXCEEDED).
        """
        if client_instance_id == _ZERO:
            client_instance_id = self._new_uuid()
        instance = yield from self._hearing_of(context, client_instance_id)
        now_ms = self._now_ms()
        if not instance.gets(now_ms) and instance.last_error not in _ASK_AGAIN:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        instance.last_error = ErrorCode.NONE
        return instance

    def pushing(
        self, context: RequestContext, request: PushTelemetryRequest
    ) -> WaitingSteps[ClientInstance]:
        """The instance, whose push may be taken. Raises KafkaError."""
        if request.client_instance_id in _RESERVED:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        instance = yield from self._hearing_of(context, request.client_instance_id)
        try:
            self._check(instance, request, self._now_ms())
        except KafkaError as error:
            instance.last_error = error.code
            raise
        finally:
            instance.is_terminating = request.terminating
        return instance

    def _check(self, instance: ClientInstance, request: PushTelemetryRequest, now_ms: int) -> None:
        if instance.is_terminating:
            raise KafkaError(ErrorCode.INVALID_REQUEST)
        if not instance.pushes(now_ms) and not request.terminating:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED)
        if request.subscription_id != instance.subscription_id:
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if request.compression_type not in set(Compression):
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        if len(request.metrics) > self._max_bytes:
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE)

    def _hearing_of(
        self, context: RequestContext, client_instance_id: UUID
    ) -> WaitingSteps[ClientInstance]:
        now_ms = self._now_ms()
        instance = self._instances.get(client_instance_id)
        if instance is not None and instance.expires_at_ms <= now_ms:
            instance = None
        if instance is None or instance.wanted.version < self._subscriptions.version:
            attributes = (
                _attributes(client_instance_id, context)
                if instance is None
                else instance.attributes
            )
            wanted = yield from self._subscriptions.finding_wanted(attributes)
            instance = self._begin(context, client_instance_id, attributes, wanted)
        self._instances.move_to_end(client_instance_id)
        life_ms = max(_LEAST_LIFE_MS, _INTERVALS_OF_SILENCE * instance.wanted.interval_ms)
        instance.expires_at_ms = now_ms + life_ms
        return instance

    def _begin(
        self,
        context: RequestContext,
        client_instance_id: UUID,
        attributes: Mapping[str, str],
        wanted: Wanted,
    ) -> ClientInstance:
        """A new instance, or one whose subscriptions have changed, which begins anew."""
        instance = ClientInstance(client_instance_id, attributes, wanted)
        self._instances[client_instance_id] = instance
        while len(self._instances) > _MOST_INSTANCES:
            self._instances.popitem(last=False)
        connection = context.connection
        if connection not in self._known_by:
            connection.when_closed(partial(self._closed, connection))
        self._known_by[connection] = client_instance_id
        return instance

    def _closed(self, connection: ClientConnection) -> None:
        self._instances.pop(self._known_by.pop(connection), None)


def _attributes(client_instance_id: UUID, context: RequestContext) -> dict[str, str]:
    """The facts about a client that a subscription may select by."""
    software_name, software_version = context.client_software
    return {
        "client_instance_id": kafka_uuid(client_instance_id),
        "client_id": context.client_id,
        "client_software_name": software_name,
        "client_software_version": software_version,
        "client_source_address": context.client_host,
        "client_source_port": str(context.client_port),
    }


def subscription_id(client_instance_id: UUID, wanted: Wanted) -> int:
    """The checksum of what is wanted, xor Java's hash of the UUID."""
    halves = client_instance_id.int >> 64 ^ client_instance_id.int & (1 << 64) - 1
    value = (wanted.checksum ^ halves >> 32 ^ halves) & 0xFFFFFFFF
    return value - (1 << 32) if value >> 31 else value
