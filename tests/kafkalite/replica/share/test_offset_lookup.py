"""Offsets at which share partitions begin."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafkalite.replica.share.offset_lookup import find_offset
from kafkalite.wire.api_keys import EARLIEST, LATEST
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.one_share_group import NOW_MS, OneShareGroup, one_share_group


@pytest.fixture
def group() -> Iterator[OneShareGroup]:
    with one_share_group(initialized=False) as made:
        yield made


def test_an_offset_by_its_time(group: OneShareGroup) -> None:
    group.append(b"a")
    group.append(b"b")
    group.partition().delete_records_before(1)
    assert find_offset(group.partition(), LATEST) == 2
    assert find_offset(group.partition(), EARLIEST) == 1
    assert find_offset(group.partition(), NOW_MS - 1) == 1
    with pytest.raises(KafkaError) as refused:
        find_offset(group.partition(), NOW_MS + 1)
    assert refused.value.code is ErrorCode.OFFSET_NOT_AVAILABLE
