"""The shards that are loaded here, and which of them a group belongs to.

A group belongs to the partition of `__consumer_offsets` that its id hashes to (java_hash.py). The
node that leads this partition coordinates the group (Kafka's GroupCoordinatorService).
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkalite.group_coordinator.java_hash import partition_of_key
from kafkalite.group_coordinator.shard import Group, Shard
from kafkalite.group_coordinator.state_log import OffsetLog
from kafkalite.wire.errors import ErrorCode, KafkaError


class Shards:
    """All shards of this process, for each of its nodes. `loaded` and `loading` have them by
    partition."""

    def __init__(self, log: OffsetLog) -> None:
        self._log = log
        self.loaded: dict[int, Shard] = {}
        self.loading: dict[int, Shard] = {}

    def is_wanted(self, shard: Shard) -> bool:
        """True as long as a shard is being loaded."""
        return self.loading.get(shard.partition) is shard

    def is_loading(self, partition: int) -> bool:
        """True while a partition is being loaded."""
        return partition in self.loading

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group belongs to.

        Raises KafkaError(COORDINATOR_NOT_AVAILABLE) while that topic does not exist.
        """
        count = self._log.partition_count
        if not count:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return partition_of_key(group_id, count)

    def find(self, group_id: str, node_id: int) -> Shard | None:
        """The group's shard, if it is this node's and loaded."""
        count = self._log.partition_count
        partition = partition_of_key(group_id, count) if count else -1
        shard = self.loaded.get(partition)
        if shard is None or self._log.leader_id(partition) != node_id:
            return None
        return shard

    def shard_of(self, group_id: str, node_id: int) -> Shard:
        """The group's shard.

        Raises KafkaError: NOT_COORDINATOR if it is not this node's, COORDINATOR_LOAD_IN_PROGRESS.
        """
        shard = self.find(group_id, node_id)
        if shard is not None:
            return shard
        count = self._log.partition_count
        self._check_loaded(partition_of_key(group_id, count) if count else -1, node_id)
        raise KafkaError(ErrorCode.NOT_COORDINATOR)

    def _check_loaded(self, partition: int, node_id: int) -> None:
        if partition in self.loading and self._log.leader_id(partition) == node_id:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)

    def end_offset(self, group_id: str) -> int:
        """The offset of the next record in the group's partition."""
        return self._log.end_offset(self.partition_for(group_id))

    def seen(self, group_id: str, node_id: int) -> Group | None:
        """The group for those who only look (Shard.seen). KafkaError as `shard_of`."""
        shard = self.shard_of(group_id, node_id)
        return shard.seen(group_id, self._log.end_offset(shard.partition))

    def all_seen(self, node_id: int) -> Iterator[Group]:
        """All groups that a node coordinates, for those who only look. KafkaError as `shard_of`.

        Others may change them before the next is asked for.
        """
        for partition in self.loading:
            self._check_loaded(partition, node_id)
        for shard in self.shards_of(node_id):
            end_offset = self._log.end_offset(shard.partition)
            for group_id in tuple(shard.groups):
                group = shard.seen(group_id, end_offset)
                if group is not None:
                    yield group

    def shards_of(self, node_id: int) -> list[Shard]:
        """The shards whose partitions a node leads."""
        return [s for s in self.loaded.values() if self._log.leader_id(s.partition) == node_id]
