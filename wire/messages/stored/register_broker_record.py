"""RegisterBrokerRecord (record type 0 of the metadata log), versions 0-4, flexible since 0.

A broker has started: where it listens, and what it can do.

    1  in controlled shutdown (KIP-841)
    2  is_migrating_zk_broker (KIP-866)
    3  log directories (KIP-858)
    4  cordoned log directories (KIP-1066)
"""

from uuid import UUID

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
from kafkalite.wire.schema import array, field, metadata_record, nullable_array, struct


@struct
class BrokerEndpoint:
    name: str = field(string)
    host: str = field(string)
    port: int = field(uint16)
    security_protocol: int = field(int16)


@struct
class BrokerFeature:
    name: str = field(string)
    min_supported_version: int = field(int16)
    max_supported_version: int = field(int16)


@metadata_record(0, versions=(0, 4))
class RegisterBrokerRecord:
    broker_id: int = field(int32)
    is_migrating_zk_broker: bool = field(boolean, since=2)
    incarnation_id: UUID = field(uuid)
    broker_epoch: int = field(int64)
    end_points: list[BrokerEndpoint] = array(BrokerEndpoint)
    features: list[BrokerFeature] = array(BrokerFeature)
    rack: str | None = field(nullable_string, default="")
    fenced: bool = field(boolean, default=True)
    in_controlled_shutdown: bool = field(boolean, since=1)
    log_dirs: list[UUID] = array(uuid, since=3, tag=0)
    cordoned_log_dirs: list[UUID] | None = nullable_array(uuid, since=4, tag=1)
