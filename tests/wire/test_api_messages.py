"""The classes of an API's messages, by its key."""

import pytest

from conformance.harness.messages import every_message
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import (
    message_in,
    request_class,
    response_class,
)
from kafkalite.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafkalite.wire.schema import Kind, message_of


def test_an_apis_classes_have_its_name() -> None:
    assert request_class(ApiKey.HEARTBEAT) is HeartbeatRequest
    assert response_class(12) is HeartbeatResponse
    assert request_class(ApiKey.ADD_PARTITIONS_TO_TXN).__name__ == "AddPartitionsToTxnRequest"


@pytest.mark.parametrize("key", [-1, 4, 93, 32767])
def test_a_key_without_messages(key: int) -> None:
    for found in (request_class, response_class):
        with pytest.raises(KeyError):
            found(key)


def test_a_version_that_is_not_there() -> None:
    found = [v for v in range(-1, 7) if message_in(ApiKey.HEARTBEAT, v, request_class)]
    assert found == [0, 1, 2, 3, 4]
    assert message_in(93, 0, response_class) is None


def test_every_request_has_its_response() -> None:
    kinds = (Kind.REQUEST, Kind.RESPONSE)
    found = {message_of(each).key for each in every_message() if message_of(each).kind in kinds}
    for key in found:
        request, response = message_of(request_class(key)), message_of(response_class(key))
        assert (request.key, response.key) == (key, key)
        for attribute in ("min_version", "max_version", "flexible_since"):
            assert getattr(request, attribute) == getattr(response, attribute)
    assert len(found) == 84
