"""UpdateFeatures (key 57), versions 0-2: finalize feature levels (KIP-584, KIP-1022).

- v0: upgrades only, for Kafka passes over its `allow_downgrade`; v1: the kind of change (upgrade 1,
  safe downgrade 2, unsafe downgrade 3) and `validate_only`; v2: one outcome for all, no longer one
  per feature.

A level outside of what is supported is INVALID_UPDATE_VERSION. metadata.version may go to any level
that Kafka 4.3 knows, but not down to one that does not know all records: those in the log would
need rewriting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kafkalite.apis import APIS
from kafkalite.cluster.features import (
    METADATA_VERSION,
    loses_metadata,
    missing_level,
    of_served,
)
from kafkalite.requests.context import RequestContext
from kafkalite.requests.slices import Steps, batches, briefly_or_in_slices, mapped
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.stored.feature_level_record import FeatureLevelRecord
from kafkalite.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

_LAST_WITH_RESULTS: Final = 1
_UPGRADE: Final = 1
_SAFE_DOWNGRADE: Final = 2
_UNSAFE_DOWNGRADE: Final = 3
# The reason not to lose metadata.
_WHY_NOT: Final = {
    _SAFE_DOWNGRADE: "Refusing to perform the requested downgrade because it might delete metadata "
    "information.",
    _UNSAFE_DOWNGRADE: "Unsafe metadata downgrade is not supported in this version.",
}


async def handle(
    services: Services, context: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    return await briefly_or_in_slices(_updated(services, context, request), context)


def _updated(
    services: Services, context: RequestContext, request: UpdateFeaturesRequest
) -> Steps[UpdateFeaturesResponse]:
    updates = yield from _last_of_each(services, request.feature_updates)
    finalized = {
        **services.cluster.features,
        **{name: each.max_version_level for name, each in updates.items()},
    }
    records: list[object] = []
    try:
        for update in updates.values():
            records.append(_update(services, context, update, finalized))
    except KafkaError as error:
        return UpdateFeaturesResponse(
            error_code=error.code,
            error_message="The update failed for all features since the following feature had an "
            f"error: {error.message}",
        )
    if not request.validate_only:
        services.cluster.begin_write(records)
    response = UpdateFeaturesResponse(error_code=ErrorCode.NONE, error_message=None)
    if context.api_version <= _LAST_WITH_RESULTS:
        response.results = yield from mapped(_result, request.feature_updates)
    return response


def _last_of_each(
    services: Services, updates: Sequence[FeatureUpdateKey]
) -> Steps[dict[str, FeatureUpdateKey]]:
    """The last update of each feature that is known, and of the first that is not.

    The first one that is not known refuses all, and the others with it.
    """
    known = of_served(services.cluster.supported_features, APIS)
    unknown: str | None = None
    found: dict[str, FeatureUpdateKey] = {}
    for some in batches(updates):
        for update in some:
            name = update.feature
            if unknown is None and name not in known:
                unknown = name
            if name == unknown or name in known:
                found[name] = update
        yield
    return found


def _result(update: FeatureUpdateKey) -> UpdatableFeatureResult:
    return UpdatableFeatureResult(
        feature=update.feature, error_code=ErrorCode.NONE, error_message="NONE"
    )


def _update(
    services: Services,
    context: RequestContext,
    update: FeatureUpdateKey,
    finalized: Mapping[str, int],
) -> FeatureLevelRecord:
    """The record that finalizes a level, beside those of the same request.

    Raises KafkaError(INVALID_UPDATE_VERSION).
    """
    name, level = update.feature, update.max_version_level
    kind = update.upgrade_type if context.api_version else _UPGRADE
    reason = _reason_against(services, context.node_id, update, kind)
    if reason is None and (needed := missing_level(name, level, finalized)) is not None:
        other, least = needed
        reason = f"{name} could not be set to {level} because it depends on {other} level {least}"
    if reason is not None:
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Invalid update version {level} for feature {name}. {reason}",
        )
    present = services.cluster.features.get(name, 0)
    if name == METADATA_VERSION and loses_metadata(level, present):
        raise KafkaError(
            ErrorCode.INVALID_UPDATE_VERSION,
            f"Unsupported metadata.version downgrade from {present} to {level}. {_WHY_NOT[kind]}",
        )
    return FeatureLevelRecord(name=name, feature_level=level)


def _reason_against(
    services: Services, node_id: int, update: FeatureUpdateKey, kind: int
) -> str | None:
    if kind not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
        return "The controller does not support the given upgrade type."
    level = update.max_version_level
    if level < 0:
        return "A feature version cannot be less than 0."
    known = of_served(services.cluster.supported_features, APIS)
    lowest, highest = known.get(update.feature, (0, 0))
    if not lowest <= level <= highest:
        if highest == 0:
            return f"Local controller {node_id} does not support this feature."
        return f"Local controller {node_id} only supports versions {lowest}-{highest}"
    present = services.cluster.features.get(update.feature, 0)
    if level < present and kind == _UPGRADE:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to "
            "either safe or unsafe downgrade."
        )
    if level > present and kind != _UPGRADE:
        return "Can't downgrade to a newer version."
    if update.feature not in known:
        return f"Feature {update.feature} not found."
    return None
