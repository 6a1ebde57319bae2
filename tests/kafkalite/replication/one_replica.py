"""One replica over a real log, and a broker around it that notes what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from uuid import UUID

from kafkalite.log.config import LogConfig
from kafkalite.log.log import Log
from kafkalite.log.opening import open_log
from kafkalite.replication.replica import Replica, ReplicationConfig
from kafkalite.replication.throttle import Throttle, Throttles
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

TOPIC_ID = UUID(int=5)
ME = 1


@dataclass(frozen=True)
class View:
    leader_id: int = ME
    leader_epoch: int = 1
    partition_epoch: int = 1
    replicas: tuple[int, ...] = (1, 2)
    in_sync_replicas: tuple[int, ...] = (1, 2)


LED = View()
FOLLOWED = replace(LED, leader_id=2)
ELSEWHERE = replace(LED, leader_id=2, replicas=(2, 3), in_sync_replicas=(2,))


class Surroundings:
    node_id = ME
    config = ReplicationConfig()

    def __init__(self) -> None:
        self.done: list[str] = []
        self.brokers = self
        self.time = 0.0
        self.rate = inf
        self.throttles = Throttles(Throttle(lambda: self.rate), Throttle(lambda: self.rate))

    def registered_epoch(self, broker_id: int) -> int | None:
        return 1

    known_epoch = registered_epoch

    def now(self) -> float:
        return self.time

    def propose(self, replica: Replica) -> None:
        self.done.append("propose")

    def follow(self, replica: Replica) -> None:
        self.done.append(f"follow {replica.leader_id}")

    def unfollow(self, replica: Replica) -> None:
        self.done.append("unfollow")


def new_log(root: Path, index: int = 0, min_isr: int = 1) -> Log:
    """An empty log of the topic t."""
    config = LogConfig(min_insync_replicas=min_isr)
    return open_log(root / f"t-{index}", config, now_ms=lambda: 0)


def new_replica(
    root: Path, around: Surroundings | None = None, index: int = 0, min_isr: int = 1
) -> Replica:
    """A replica that has no role yet."""
    log = new_log(root, index, min_isr)
    return Replica(around or Surroundings(), "t", TOPIC_ID, index, log, lambda: None)


def batch(*values: bytes, offset: int = 0, epoch: int = 1) -> bytes:
    """Records as a leader of this epoch wrote them."""
    records = [Record(timestamp=0, value=value) for value in values]
    return build_batch(records, base_offset=offset, partition_leader_epoch=epoch)


def values(log: Log) -> list[bytes]:
    """The values of all records of a log."""
    found: list[bytes] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        result = log.read(offset, 1 << 20, upper_bound=log.log_end_offset)
        with result.records as records:
            data = records.read()
        for each in iterate_batches(data):
            found += [bytes(record.value or b"") for record in iterate_records(each)]
            offset = each.next_offset
    return found
