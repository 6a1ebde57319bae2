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


async def test_of_very_many_the_last_of_each_counts_up_to_the_first_unknown(client: Any) -> None:
    def change(name: str, level: int) -> FeatureUpdateKey:
        return FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=1)

    many = [change(f"x{number}", number) for number in range(1, 1000)]
    known = [change("group.version", level) for level in (7, 1)]
    request = UpdateFeaturesRequest(feature_updates=[*known, *many, change("x1", 9)])
    answer = await client.ask(request)
    assert answer.error_message.partition("error: ")[2].startswith(
        "Invalid update version 9 for feature x1. "
    )
    request.feature_updates = known * 300
    assert (await client.ask(request)).error_code == 0
    told = await client.ask(request, 1)
    assert [each.feature for each in told.results] == ["group.version"] * 600


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


async def reason(client: Any, feature: str, level: int, kind: int, name: str = "") -> str:
    changes = [FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)]
    if name:
        changes.append(FeatureUpdateKey(feature=name, max_version_level=23, upgrade_type=1))
    request = UpdateFeaturesRequest(feature_updates=changes, validate_only=True)
    words: str = (await client.ask(request)).error_message or ""
    return words.partition(f"{feature}. ")[2] or words.partition("downgrade from ")[2]


async def test_the_way_back_to_an_older_release(broker: Any, client: Any) -> None:
    """A data directory may have been formatted for one (kafka-storage --release-version)."""
    assert await reason(client, "metadata.version", 29, 2) == (
        "30 to 29. Refusing to perform the requested downgrade because it might delete metadata "
        "information."
    )
    assert await reason(client, "metadata.version", 29, 3) == (
        "30 to 29. Unsafe metadata downgrade is not supported in this version."
    )
    broker._running.services.cluster.image.features["metadata.version"] = 19
    assert await reason(client, "metadata.version", 18, 2) == ""
    assert await reason(client, "metadata.version", 16, 2) != ""
    elr = "eligible.leader.replicas.version"
    assert await reason(client, elr, 1, 1) == (
        f"{elr} could not be set to 1 because it depends on metadata.version level 23"
    )
    assert await reason(client, elr, 1, 1, name="metadata.version") == ""
