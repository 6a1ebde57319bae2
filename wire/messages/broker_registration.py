"""BrokerRegistration (key 62), versions 0-4, flexible since 0.

A broker tells the active controller that it has started (KIP-631). The answer's broker epoch is the
offset of the record that the controller wrote.

    1  is_migrating_zk_broker (KIP-866)
    2  log directories (KIP-858)
    3  the broker epoch of the last clean shutdown (KIP-966)
    4  features whose lowest version is 0 (KIP-1022)
"""

from uuid import UUID

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import (
    boolean,
    int16,
    int32,
    int64,
    nullable_string,
    string,
    uint16,
    uuid,
)
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class Listener:
    name: str = field(string)
    host: str = field(string)
    port: int = field(uint16)
    security_protocol: int = field(int16)


@struct
class Feature:
    name: str = field(string)
    min_supported_version: int = field(int16)
    max_supported_version: int = field(int16)


@request(ApiKey.BROKER_REGISTRATION, versions=(0, 4), flexible=0)
class BrokerRegistrationRequest:
    broker_id: int = field(int32)
    cluster_id: str = field(string)
    incarnation_id: UUID = field(uuid)
    listeners: list[Listener] = array(Listener)
    features: list[Feature] = array(Feature)
    rack: str | None = field(nullable_string, default="")
    is_migrating_zk_broker: bool = field(boolean, since=1)
    log_dirs: list[UUID] = array(uuid, since=2, ignorable=True)
    previous_broker_epoch: int = field(int64, since=3, default=-1, ignorable=True)


@response(ApiKey.BROKER_REGISTRATION, versions=(0, 4), flexible=0)
class BrokerRegistrationResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    broker_epoch: int = field(int64, default=-1)
