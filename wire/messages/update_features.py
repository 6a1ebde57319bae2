"""UpdateFeatures (key 57), versions 0-2, flexible since 0.

Sets finalized feature levels (KIP-584).

    1  upgrade types, validate only (KIP-778)
    2  no results feature by feature: all or nothing
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import boolean, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class FeatureUpdateKey:
    feature: str = field(string)
    max_version_level: int = field(int16)
    allow_downgrade: bool = field(boolean, until=0)
    upgrade_type: int = field(int8, since=1, default=1)


@request(ApiKey.UPDATE_FEATURES, versions=(0, 2), flexible=0)
class UpdateFeaturesRequest:
    timeout_ms: int = field(int32, default=60000)
    feature_updates: list[FeatureUpdateKey] = array(FeatureUpdateKey)
    validate_only: bool = field(boolean, since=1)


@struct
class UpdatableFeatureResult:
    feature: str = field(string)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")


@response(ApiKey.UPDATE_FEATURES, versions=(0, 2), flexible=0)
class UpdateFeaturesResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    results: list[UpdatableFeatureResult] = array(UpdatableFeatureResult, until=1, ignorable=True)
