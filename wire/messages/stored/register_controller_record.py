"""RegisterControllerRecord (record type 27 of the metadata log), version 0, flexible since 0.

A controller and where it listens (KIP-919).
"""

from uuid import UUID

from kafkalite.wire.fields import boolean, int16, int32, string, uint16, uuid
from kafkalite.wire.schema import array, field, metadata_record, struct


@struct
class ControllerEndpoint:
    name: str = field(string)
    host: str = field(string)
    port: int = field(uint16)
    security_protocol: int = field(int16)


@struct
class ControllerFeature:
    name: str = field(string)
    min_supported_version: int = field(int16)
    max_supported_version: int = field(int16)


@metadata_record(27, versions=(0, 0))
class RegisterControllerRecord:
    controller_id: int = field(int32)
    incarnation_id: UUID = field(uuid)
    zk_migration_ready: bool = field(boolean)
    end_points: list[ControllerEndpoint] = array(ControllerEndpoint)
    features: list[ControllerFeature] = array(ControllerFeature)
