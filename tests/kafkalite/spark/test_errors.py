"""Errors go from a task to its driver as they are."""

from __future__ import annotations

import pickle

import pytest

from kafkalite.spark.errors import (
    BrokerError,
    DamagedLog,
    NotADataDirectory,
    OffsetOutOfRange,
    SparkSourceError,
    UnknownTopic,
)
from kafkalite.wire.errors import ErrorCode


@pytest.mark.parametrize("code", [None, ErrorCode.NOT_LEADER_OR_FOLLOWER])
def test_a_brokers_error_keeps_its_code(code: ErrorCode | None) -> None:
    sent = pickle.loads(pickle.dumps(BrokerError("t-0: refused", code)))
    assert isinstance(sent, BrokerError)
    assert (str(sent), sent.code) == ("t-0: refused", code)


@pytest.mark.parametrize(
    "kind", [BrokerError, DamagedLog, NotADataDirectory, OffsetOutOfRange, UnknownTopic]
)
def test_all_are_told_to_the_user(kind: type[SparkSourceError]) -> None:
    assert issubclass(kind, SparkSourceError)
    sent = pickle.loads(pickle.dumps(kind("one sentence")))
    assert (type(sent), str(sent)) == (kind, "one sentence")
