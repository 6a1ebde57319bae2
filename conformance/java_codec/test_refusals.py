"""Says what says nothing but an error is the same for each API as Apache Kafka's
`getErrorResponse`.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from conformance.harness.random_messages import random_message
from conformance.harness.referee import Referee, RefereeRefuses
from kafkalite.apis import APIS
from kafkalite.requests.refusals import refuse
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.message_codec import build_body, join, parse_body
from kafkalite.wire.schema import fields_of, message_of

_ERRORS = (
    (ErrorCode.NOT_LEADER_OR_FOLLOWER, None),
    (ErrorCode.UNKNOWN_SERVER_ERROR, None),
    (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "why it is so"),
)


def _apis() -> list[ApiKey]:
    found: list[ApiKey] = []
    for key in ApiKey:
        try:
            request_class(key)
        except KeyError:
            continue
        found.append(key)
    return found


@pytest.mark.parametrize("key", _apis(), ids=lambda key: key.name)
def test_refusals_are_kafkas(kafka: Referee, key: ApiKey) -> None:
    random = Random(int(key))
    request_type, response_type = request_class(key), response_class(key)
    message = message_of(request_type)
    compared = 0
    for version in range(message.min_version, message.max_version + 1):
        for code, told in _ERRORS:
            for _ in range(8):
                request = _sane(key, random_message(random, request_type, version))
                body = join(build_body(request, version))
                try:
                    theirs = kafka.refuse(key, version, body, code, told)
                except RefereeRefuses:
                    continue  # a request that Kafka's own constructor does not take
                ours = refuse(key, version, parse_body(request_type, version, body), code, told)
                compared += 1
                if theirs is None:
                    assert ours is None
                    continue
                built = join(build_body(ours, version))
                assert _shown(parse_body(response_type, version, built)) == _shown(
                    parse_body(response_type, version, theirs)
                ), (version, request)
    assert compared or key not in APIS


def _sane(key: ApiKey, request: Any) -> Any:
    """The request without records that are none, with no place twice and none without
    partitions.
    """
    if key is ApiKey.PRODUCE:
        request.topic_data = [each for each in request.topic_data if each.partition_data][:1]
        for topic in request.topic_data:
            topic.partition_data = topic.partition_data[:1]
            topic.partition_data[0].records = None
    if key is ApiKey.WRITE_TXN_MARKERS:
        request.markers = request.markers[:1]
        for marker in request.markers:
            marker.topics = [each for each in marker.topics if each.partition_indexes][:1]
            for topic in marker.topics:
                topic.partition_indexes = topic.partition_indexes[:1]
    return request


def _shown(value: Any) -> Any:
    if isinstance(value, list):
        return [_shown(each) for each in value]
    if not hasattr(type(value), "__wire_fields__"):
        return value
    return {field.name: _shown(getattr(value, field.name)) for field in fields_of(type(value))}
