"""The most that a controller changes for one request."""

import pytest

from kafkalite.cluster.operation_size import TooManyRecords, check_operation_size
from kafkalite.wire.errors import ErrorCode


def test_ten_thousand_records_are_allowed_and_no_more() -> None:
    check_operation_size(10_000)
    with pytest.raises(TooManyRecords, match="excessively large batch operation") as refusal:
        check_operation_size(10_001)
    assert refusal.value.code is ErrorCode.POLICY_VIOLATION
