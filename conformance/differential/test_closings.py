"""Bytes that are no request: both close the connection without a word."""

import struct

import pytest

from conformance.differential.broker_side import with_length
from conformance.differential.comparison import Pair
from conformance.harness.raw import header
from kafkalite.apis import APIS, Api
from kafkalite.wire.api_keys import ApiKey

# Answered in whatever version it comes: test_api_versions.py.
OTHERS = [api for api in APIS.values() if api.key is not ApiKey.API_VERSIONS]


def told(pair: Pair, data: bytes) -> None:
    """Both get these bytes; what comes is the same, if anything comes."""
    answers = []
    for side in pair.sides:
        side.send_bytes(data)
        answers.append(side.receive_frame())
    pair.compare("what is no request", *answers)


def asked(api_key: int, version: int, body: bytes = b"") -> bytes:
    return with_length(header(api_key, version, 7) + body)


@pytest.mark.parametrize("api", OTHERS, ids=lambda api: api.key.name)
def test_a_version_that_is_not_served(pair: Pair, api: Api) -> None:
    for version in (api.min_version - 1, api.max_version + 1, 32767):
        told(pair, asked(api.key, version, bytes(64)))


@pytest.mark.parametrize("api", OTHERS, ids=lambda api: api.key.name)
def test_a_body_that_is_missing(pair: Pair, api: Api) -> None:
    told(pair, asked(api.key, api.max_version))


@pytest.mark.parametrize("api_key", [-1, 4, 999, 32767])
def test_an_api_that_is_none(pair: Pair, api_key: int) -> None:
    for version in (0, 1):
        told(pair, asked(api_key, version))


@pytest.mark.parametrize("length", [-1, 0, 1, 7, 104_857_601, 2**31 - 1])
def test_a_length_that_is_none(pair: Pair, length: int) -> None:
    told(pair, struct.pack(">i", length) + bytes(max(0, min(length, 7))))


def test_versions_of_produce_that_are_offered_but_not_served(pair: Pair) -> None:
    """librdkafka looks for them to know what a broker can do (KAFKA-18659)."""
    for version in range(3):
        told(pair, asked(ApiKey.PRODUCE, version, struct.pack(">hii", 1, 1000, 0)))
