"""Errors: the codes that a client may try again, and where in a message a mistake is."""

import pytest
from aiokafka import errors as aiokafka_errors

from kafkalite.wire.errors import (
    ErrorCode,
    InvalidMessage,
    KafkaError,
    Malformed,
    ProtocolViolation,
    UnsupportedVersion,
    too_many_elements,
)


def test_codes_have_the_numbers_that_aiokafka_knows() -> None:
    """A few names differ; the others are compared."""
    compared = 0
    for code in ErrorCode:
        theirs = getattr(aiokafka_errors, code.name.title().replace("_", "") + "Error", None)
        if theirs is not None:
            assert theirs.errno == code, code.name
            compared += 1
    assert compared > 30


def test_there_is_no_hole_among_the_codes() -> None:
    assert [int(code) for code in ErrorCode] == list(range(-1, 134))


@pytest.mark.parametrize(
    ("code", "retriable"),
    [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, True),
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, True),
        (ErrorCode.CONCURRENT_TRANSACTIONS, True),
        (ErrorCode.NONE, False),
        (ErrorCode.UNKNOWN_SERVER_ERROR, False),
        (ErrorCode.REBALANCE_IN_PROGRESS, False),
        (ErrorCode.PRODUCER_FENCED, False),
    ],
)
def test_a_client_may_try_again_after_some(code: ErrorCode, retriable: bool) -> None:
    assert code.retriable is retriable


def test_an_error_says_its_code_and_its_words() -> None:
    error = KafkaError(ErrorCode.INVALID_REQUEST, "no topics")
    assert (error.code, error.message) == (ErrorCode.INVALID_REQUEST, "no topics")
    assert str(error) == "INVALID_REQUEST: no topics"
    assert str(KafkaError(ErrorCode.INVALID_REQUEST)) == "INVALID_REQUEST"


def test_a_path_grows_on_its_way_up() -> None:
    error = InvalidMessage("too long", position=14)
    for name in ("name", "[3]", "topics", "MetadataRequest"):
        error.inside(name)
    assert error.field_path == "MetadataRequest.topics[3].name"
    assert str(error) == "too long (MetadataRequest.topics[3].name, byte 14)"
    assert str(InvalidMessage("too long")) == "too long (byte 0)"


def test_a_peers_violations_are_one_family() -> None:
    unsupported = UnsupportedVersion(18, 99, 7, "me")
    assert str(unsupported) == "API 18 has no version 99 here (byte 4)"
    for error in (unsupported, Malformed("x"), too_many_elements(9, "FetchRequest")):
        assert isinstance(error, ProtocolViolation)
    assert not issubclass(InvalidMessage, ProtocolViolation)
    assert not issubclass(KafkaError, ProtocolViolation)
