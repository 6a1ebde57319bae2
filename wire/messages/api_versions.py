"""ApiVersions (key 18), versions 0-4, flexible since 3.

What a broker speaks. A version that the broker does not know is answered in version 0 with
UNSUPPORTED_VERSION and the versions of this API; the response header is always in version 0
(KIP-511).

    1  throttle time (KIP-124)
    2  answered first and throttled by the client afterwards (KIP-219)
    3  name and version of the client (KIP-511); features (KIP-584)
    4  a supported feature may have 0 for its lowest version (KAFKA-17011)
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int16, int32, int64, string
from kafkalite.wire.schema import array, field, request, response, struct


@request(ApiKey.API_VERSIONS, versions=(0, 4), flexible=3)
class ApiVersionsRequest:
    client_software_name: str = field(string, since=3, ignorable=True)
    client_software_version: str = field(string, since=3, ignorable=True)


@struct
class ApiVersion:
    api_key: int = field(int16)
    min_version: int = field(int16)
    max_version: int = field(int16)


@struct
class SupportedFeatureKey:
    name: str = field(string)
    min_version: int = field(int16)
    max_version: int = field(int16)


@struct
class FinalizedFeatureKey:
    name: str = field(string)
    max_version_level: int = field(int16)
    min_version_level: int = field(int16)


@response(ApiKey.API_VERSIONS, versions=(0, 4), flexible=3)
class ApiVersionsResponse:
    error_code: int = field(int16)
    api_keys: list[ApiVersion] = array(ApiVersion)
    throttle_time_ms: int = field(int32, since=1, ignorable=True)
    supported_features: list[SupportedFeatureKey] = array(
        SupportedFeatureKey, since=3, tag=0, ignorable=True
    )
    finalized_features_epoch: int = field(int64, since=3, tag=1, default=-1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = array(
        FinalizedFeatureKey, since=3, tag=2, ignorable=True
    )
    zk_migration_ready: bool = field(boolean, since=3, tag=3, ignorable=True)
