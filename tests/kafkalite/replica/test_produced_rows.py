"""The response to a Produce request while it is made."""

from __future__ import annotations

from uuid import UUID

import pytest

from kafkalite.log.checked_batch import CheckFirst
from kafkalite.replica import produced_rows
from kafkalite.replica.produced_rows import ProducedRows, error_row, hang_up_on_error, refused_rows
from kafkalite.requests.context import CloseConnection
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError

ERROR = KafkaError(ErrorCode.CORRUPT_MESSAGE, "why")


def test_appends_give_way_once_they_have_taken_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 5.0
    monkeypatch.setattr(produced_rows, "monotonic", lambda: now)
    produced = ProducedRows()
    produced.give_way_in_time()
    produced.give_way_in_time()
    now = 5.1
    with pytest.raises(CheckFirst):
        produced.give_way_in_time()
    produced.begin_slice()
    produced.give_way_in_time()


def test_an_error_for_all() -> None:
    topics = [("t", UUID(int=0), [(index, b"") for index in range(20)]), ("u", UUID(int=0), [])]
    (response,) = at_once(refused_rows(topics, ERROR))
    assert response[2] == [error_row(index, ERROR, "why") for index in range(20)]


def test_an_error_ends_the_connection_of_who_wants_no_answer() -> None:
    good = (0, 0, 5, -1, 0, (), None, (-1, -1))
    hang_up_on_error([("t", UUID(int=0), [good])])
    with pytest.raises(CloseConnection, match="t-1 failed with CORRUPT_MESSAGE"):
        hang_up_on_error([("t", UUID(int=0), [good, error_row(1, ERROR, None)])])
