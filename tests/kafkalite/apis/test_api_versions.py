"""ApiVersions: the promise, and the way back for clients newer than we are."""

import struct

import pytest

from kafkalite.apis import APIS
from kafkalite.cluster.features import APIS_OF_FEATURES, BOOTSTRAP_FEATURES, of_served
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.codec import decode_response
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.schema import message_of


def asked(version: int, **fields: str) -> ApiVersionsRequest:
    named = {"client_software_name": "a-client", "client_software_version": "1.0"}
    return ApiVersionsRequest(**(named | fields if version >= 3 else {}))


@pytest.mark.parametrize("version", range(5))
async def test_lists_what_is_in_the_table(client, version: int) -> None:
    response = await client.ask(asked(version), version)
    assert response.error_code == ErrorCode.NONE
    listed = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
    assert listed == {
        key: (api.advertised_min_version, api.max_version)
        for key, api in APIS.items()
        if not api.offered_by
    }
    assert listed[ApiKey.PRODUCE] == (0, 13)  # though 0 to 2 are refused (KAFKA-18659)
    assert list(listed) == sorted(listed)


async def test_features_with_level_0_are_told_to_those_who_can_read_them(client) -> None:
    old = await client.ask(asked(3), 3)
    new = await client.ask(asked(4), 4)
    names = {feature.name for feature in new.supported_features}
    assert {"metadata.version", "group.version", "transaction.version"} <= names
    assert [feature.name for feature in old.supported_features] == ["metadata.version"]
    finalized = {each.name: each.max_version_level for each in new.finalized_features}
    assert finalized["metadata.version"] == 30
    assert finalized["group.version"] == 1
    assert new.finalized_features_epoch >= 0


@pytest.mark.parametrize("version", [5, 9, 32767, -1])
async def test_a_version_above_ours_is_answered_in_version_0(client, version: int) -> None:
    body = b"\x05what\x05ever\0 and more that we cannot know"
    frame = struct.pack(">hhih", ApiKey.API_VERSIONS, version, 77, 4) + b"test" + b"\0" + body
    await client.stream.send_all(struct.pack(">i", len(frame)) + frame)
    correlation_id, response = decode_response(ApiKey.API_VERSIONS, 0, await client.frame())
    assert correlation_id == 77
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    (entry,) = response.api_keys
    assert (entry.api_key, entry.min_version, entry.max_version) == (ApiKey.API_VERSIONS, 0, 4)
    # The same connection goes on.
    assert (await client.ask(asked(4), 4)).error_code == ErrorCode.NONE


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "ä"])
async def test_a_client_must_name_itself_well(client, name: str) -> None:
    for fields in ({"client_software_name": name}, {"client_software_version": name}):
        response = await client.ask(asked(3, **fields), 3)
        assert response.error_code == ErrorCode.INVALID_REQUEST
    assert (await client.ask(asked(3), 3)).error_code == ErrorCode.NONE


def test_every_version_of_the_table_can_be_read_and_written() -> None:
    for api in APIS.values():
        message = message_of(request_class(api.key))
        assert message.min_version <= api.min_version <= api.max_version <= message.max_version
        assert callable(api.load())


async def test_a_feature_is_listed_when_all_its_apis_are_served(client) -> None:
    response = await client.ask(asked(4), 4)
    supported = {feature.name for feature in response.supported_features}
    finalized = {feature.name for feature in response.finalized_features}
    assert finalized <= supported
    for name, keys in APIS_OF_FEATURES.items():
        assert (name in supported) == keys.issubset(APIS), name
        assert (name in finalized) == keys.issubset(APIS), name


# The least versions of a client that sees the other features finalized.
LEAST_VERSIONS = {
    "transaction.version": {  # KIP-890
        ApiKey.PRODUCE: 12,
        ApiKey.ADD_OFFSETS_TO_TXN: 4,
        ApiKey.END_TXN: 5,
        ApiKey.TXN_OFFSET_COMMIT: 5,
        ApiKey.ADD_PARTITIONS_TO_TXN: 5,
    },
    "eligible.leader.replicas.version": {ApiKey.DESCRIBE_TOPIC_PARTITIONS: 0},  # KIP-966
    "metadata.version": {ApiKey.METADATA: 13},
}
FAMILIES = {
    "group.version": "CONSUMER_GROUP",
    "share.version": "SHARE",
    "streams.version": "STREAMS",
}


def test_what_is_finalized_is_served_whole() -> None:
    """Every API with the family's name in its own, not those alone without which a client stands
    still."""
    assert BOOTSTRAP_FEATURES.keys() == LEAST_VERSIONS.keys() | FAMILIES.keys()
    for feature, word in FAMILIES.items():
        family = {key for key in ApiKey if word in key.name}
        assert APIS_OF_FEATURES[feature] <= family <= APIS.keys(), feature
    for feature, versions in LEAST_VERSIONS.items():
        for key, version in versions.items():
            assert APIS[key].max_version >= version, feature


def test_the_features_of_what_is_served() -> None:
    levels = {"share.version": 1, "streams.version": 1, "metadata.version": 30}
    without_fetch = APIS_OF_FEATURES["share.version"] - {ApiKey.SHARE_FETCH}
    assert of_served(levels, without_fetch) == {"metadata.version": 30}
    served = APIS_OF_FEATURES["share.version"] | without_fetch
    assert of_served(levels, served) == {"metadata.version": 30, "share.version": 1}
