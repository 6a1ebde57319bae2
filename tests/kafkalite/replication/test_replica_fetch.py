"""A leader serves its followers: up to the end, and where histories part (KIP-595)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kafkalite.replication.replica import Replica
from kafkalite.replication.replica_fetch import Wanted, check_epoch, diverging_at, read
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.replication.one_replica import (
    FOLLOWED,
    LED,
    Surroundings,
    batch,
    new_replica,
)


@pytest.fixture
def leader(tmp_path: Path) -> Replica:
    """It leads in epoch 3 with the records of epoch 1 at offsets 0 to 2, and of 3 from 3 on."""
    made = new_replica(tmp_path)
    made.log.append_as_follower(batch(b"a", b"b", b"c", epoch=1))
    made.change(replace(LED, leader_epoch=3, partition_epoch=3))
    made.log.append(batch(b"d", b"e"), leader_epoch=3)
    made.appended()
    return made


def wanted(offset: int, *, epoch: int = 3, fetched: int = 3, max_bytes: int = 1 << 20) -> Wanted:
    return Wanted(epoch, offset, fetched, 0, max_bytes)


def asked(leader: Replica, wanted: Wanted, **how: Any) -> Any:
    given: dict[str, Any] = {
        "replica_id": 2,
        "broker_epoch": 1,
        "minimum_one_batch": True,
        "is_first": True,
        **how,
    }
    return read(leader, wanted, **given)


def size(found: Any) -> int:
    if not found.records:
        return 0
    with found.records as records:
        return len(records.read())


@pytest.mark.parametrize(
    ("epoch", "code"),
    [
        (2, ErrorCode.FENCED_LEADER_EPOCH),
        (4, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (3, None),
        (-1, None),
    ],
)
def test_a_question_in_another_epoch_is_refused(
    leader: Replica, epoch: int, code: ErrorCode | None
) -> None:
    if code is None:
        check_epoch(leader, epoch)
        return
    for ask in (lambda: check_epoch(leader, epoch), lambda: asked(leader, wanted(5, epoch=epoch))):
        with pytest.raises(KafkaError) as refused:
            ask()
        assert refused.value.code is code


def test_one_that_does_not_lead_serves_no_follower(leader: Replica) -> None:
    leader.change(replace(FOLLOWED, leader_epoch=4, partition_epoch=4))
    with pytest.raises(KafkaError) as refused:
        asked(leader, wanted(0, epoch=4, fetched=-1))
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_follower_gets_all_up_to_the_end_and_so_commits_what_it_has(leader: Replica) -> None:
    assert leader.log.high_watermark == 0
    first = asked(leader, wanted(0, fetched=-1))
    whole = len(batch(b"a", b"b", b"c")) + len(batch(b"d", b"e"))
    assert (size(first), first.high_watermark) == (whole, 0)
    second = asked(leader, wanted(3, fetched=1))
    assert size(second) == len(batch(b"d", b"e"))
    assert leader.log.high_watermark == 3
    asked(leader, wanted(5))
    assert leader.log.high_watermark == 5


def test_a_request_that_was_parked_tells_nothing_new(leader: Replica) -> None:
    asked(leader, wanted(5), is_first=False)
    assert leader.log.high_watermark == 0


def test_one_batch_comes_however_small_the_limit(leader: Replica) -> None:
    assert size(asked(leader, wanted(0, fetched=-1, max_bytes=1))) == len(batch(b"a", b"b", b"c"))
    assert size(asked(leader, wanted(0, fetched=-1, max_bytes=1), minimum_one_batch=False)) == 0


def test_a_broker_of_an_earlier_life_is_refused(leader: Replica) -> None:
    with pytest.raises(KafkaError) as refused:
        asked(leader, wanted(5), broker_epoch=0)
    assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("offset", "epoch", "parts"),
    [
        (0, -1, None),  # it has nothing, and no history
        (3, 1, None),
        (2, 1, None),
        (5, 3, None),
        (4, 1, (1, 3)),  # it has one more of epoch 1
        (4, 2, (1, 3)),  # of an epoch that is not in this log
        (6, 3, (3, 5)),  # ahead of this log
    ],
)
def test_where_histories_part(
    leader: Replica, offset: int, epoch: int, parts: tuple[int, int] | None
) -> None:
    assert diverging_at(leader, offset, epoch) == parts
    assert asked(leader, wanted(offset, fetched=epoch)).diverging == parts


@pytest.mark.parametrize(("offset", "epoch"), [(5, 4), (5, 9), (1, 1)])
def test_what_this_log_does_not_know_is_out_of_range(
    leader: Replica, offset: int, epoch: int
) -> None:
    leader.log.advance_high_watermark(3)
    leader.log.delete_records_before(2)
    with pytest.raises(KafkaError) as refused:
        diverging_at(leader, offset, epoch)
    assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_who_is_behind_gets_nothing_when_the_rate_is_used_up(tmp_path: Path) -> None:
    around = Surroundings()
    leader = new_replica(tmp_path, around)
    leader.change(replace(LED, replicas=(1, 2, 3), in_sync_replicas=(1, 3)))
    leader.log.append(batch(b"a"), leader_epoch=1)
    leader.is_throttled_as_leader = True
    around.rate = 10
    of_it = wanted(0, epoch=1, fetched=-1)
    given = size(asked(leader, of_it))
    assert given
    leader.gave(given)
    assert size(asked(leader, of_it)) == 0
    assert size(asked(leader, of_it, replica_id=3)) == given, "in-sync replicas always get theirs"
    with pytest.raises(KafkaError) as caught:
        asked(leader, wanted(9, epoch=1, fetched=-1))
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    around.time += 100
    assert size(asked(leader, of_it)) == given
