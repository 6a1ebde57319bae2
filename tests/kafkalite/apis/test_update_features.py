"""UpdateFeatures: levels go up and down within what this version supports."""

from __future__ import annotations

from typing import Any

from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest


async def update(
    client: Any, feature: str, level: int, kind: int, version: int = 2, **options: Any
) -> int:
    change = FeatureUpdateKey(
        feature=feature,
        max_version_level=level,
        upgrade_type=kind,
        allow_downgrade=options.pop("allow_downgrade", False),
    )
    request = UpdateFeaturesRequest(feature_updates=[change], **options)
    answer = await client.ask(request, version)
    code: int = answer.error_code
    return code


async def test_a_feature_that_is_not_known(client: Any) -> None:
    """At level 0 no feature needs to be supported."""
    words = {}
    for level in (0, 1):
        change = FeatureUpdateKey(feature="x", max_version_level=level, upgrade_type=1)
        answer = await client.ask(UpdateFeaturesRequest(feature_updates=[change]))
        assert answer.error_code == 95
        words[level] = answer.error_message.partition("feature x. ")[2]
    assert words == {
        0: "Feature x not found.",
        1: "Local controller 1 does not support this feature.",
    }


async def test_features(client: Any) -> None:
    async def level() -> int | None:
        answer = await client.ask(
            ApiVersionsRequest(client_software_name="a", client_software_version="1")
        )
        levels = {item.name: item.max_version_level for item in answer.finalized_features}
        return levels.get("group.version")

    assert await level() == 1
    assert await update(client, "group.version", 0, 1) == 95
    assert await update(client, "group.version", 0, 2, validate_only=True) == 0
    assert await level() == 1
    assert await update(client, "group.version", 0, 2) == 0
    assert await level() is None
    assert await update(client, "group.version", 1, 2) == 95
    assert await update(client, "group.version", 1, 1) == 0
    assert await level() == 1
    # Kafka's brokers pass v0 on to the controller in a version without allow_downgrade.
    assert await update(client, "group.version", 0, 1, version=0, allow_downgrade=True) == 95
    assert await update(client, "group.version", 2, 1) == 95
    assert await update(client, "nosuch", 1, 1) == 95
    assert await update(client, "metadata.version", 29, 2) == 95
