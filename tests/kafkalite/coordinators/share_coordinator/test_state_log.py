"""`__share_group_state`: where the state of a share partition lies, and what is read back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from uuid import UUID

import pytest

from kafkalite.coordinators.coordinator_log import batches_of
from kafkalite.coordinators.share_coordinator.share_state import (
    ShareState,
    snapshot_record,
    tombstone,
    update_record,
)
from kafkalite.coordinators.share_coordinator.state_log import ShareStateLog, coordinator_key
from kafkalite.log.files import Files
from kafkalite.replica.share.share_partition import SharePartitionKey
from kafkalite.replica.share.state_batch import StateBatch
from kafkalite.services import Services
from kafkalite.wire.api_keys import TOPIC_RESOURCE
from kafkalite.wire.compression import Compression
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.record_batch import HEADER_BYTES
from tests.kafkalite.server.one_dispatcher import one_dispatcher

NOW_MS = 1_700_000_000_000
KEY = SharePartitionKey("g", UUID(int=5), 3)
TOPIC = "__share_group_state"


@pytest.fixture
def services() -> Iterator[Services]:
    with one_dispatcher({"share.coordinator.state.topic.num.partitions": "7"}) as asked:
        yield asked.services


@pytest.fixture
def log(services: Services) -> ShareStateLog:
    return ShareStateLog(services.topics, lambda: NOW_MS)


def code(work: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        work()
    return refused.value.code


def test_the_key_of_a_share_partition() -> None:
    assert coordinator_key(KEY) == "g:AAAAAAAAAAAAAAAAAAAABQ:3"


def test_before_the_first_need_there_is_no_topic(services: Services, log: ShareStateLog) -> None:
    assert log.topic is None
    assert code(lambda: log.index_of_state(KEY)) is ErrorCode.NOT_COORDINATOR
    log.ensure()
    topic = services.topics.get(TOPIC)
    assert topic is not None
    assert len(topic.partitions) == 7
    log.ensure()
    assert log.topic is topic


def test_the_topic_has_the_broker_s_configs() -> None:
    configs = {"segment.bytes": "2097152", "min.isr": "2"}
    broker = {f"share.coordinator.state.topic.{name}": text for name, text in configs.items()}
    with one_dispatcher(broker) as asked:
        ShareStateLog(asked.services.topics, lambda: NOW_MS).ensure()
        found = asked.services.cluster.image.configs[TOPIC_RESOURCE, TOPIC]
    assert (found["segment.bytes"], found["min.insync.replicas"]) == ("2097152", "2")


def test_a_topic_that_cannot_be_made_is_a_coordinator_that_is_not_there() -> None:
    with one_dispatcher({"share.coordinator.state.topic.replication.factor": "3"}) as asked:
        log = ShareStateLog(asked.services.topics, lambda: NOW_MS)
        assert code(log.ensure) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_key_s_hash_says_where_its_state_lies(log: ShareStateLog) -> None:
    """Java's String.hashCode of g:AAAAAAAAAAAAAAAAAAAABQ:3, its absolute value modulo 7."""
    log.ensure()
    text, value = "g:AAAAAAAAAAAAAAAAAAAABQ:3", 0
    for letter in text:
        value = (31 * value + ord(letter)) % 2**32
    signed = value - 2**32 if value >= 2**31 else value
    assert log.index_of_state(KEY) == abs(signed) % 7


def test_the_leader_of_that_partition_coordinates(log: ShareStateLog) -> None:
    log.ensure()
    log.check_coordinator(KEY, 1)
    assert code(lambda: log.check_coordinator(KEY, 2)) is ErrorCode.NOT_COORDINATOR
    assert code(lambda: log.partition(7)) is ErrorCode.NOT_COORDINATOR


def test_what_is_appended_is_read_back_in_order(log: ShareStateLog) -> None:
    log.ensure()
    state = ShareState(state_epoch=1, start_offset=10)
    assert log.append(0, [snapshot_record(KEY, state), update_record(KEY, state)]) == 0
    assert log.append(0, [tombstone(KEY)]) == 2
    found = [
        (offset, type(key).__name__, type(value).__name__) for offset, key, value in log.replay(0)
    ]
    assert found == [
        (0, "ShareSnapshotKey", "ShareSnapshotValue"),
        (1, "ShareUpdateKey", "ShareUpdateValue"),
        (2, "ShareSnapshotKey", "NoneType"),
    ]
    assert list(log.replay(1)) == []


@pytest.mark.parametrize("codec", Compression)
def test_batches_have_the_codec_of_the_topic(services: Services, codec: Compression) -> None:
    log = ShareStateLog(services.topics, lambda: NOW_MS, codec=codec)
    log.ensure()
    state = ShareState(batches=[StateBatch(each, each, 2, 1) for each in range(0, 200, 2)])
    log.append(0, [snapshot_record(KEY, state)])
    (batch,) = batches_of(log.partition(0).log)
    assert batch.compression is codec
    ((_, _, found),) = log.replay(0)
    assert len(found.state_batches) == 100


def test_so_many_bytes_are_read_at_once(
    services: Services, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or one batch, where that is larger."""
    log = ShareStateLog(services.topics, lambda: NOW_MS, read_bytes=1000)
    log.ensure()
    for count in (1, 1, 1, 200, 1):
        log.append(0, [tombstone(KEY)] * count)
    batch_sizes = [batch.size_bytes for batch in batches_of(log.partition(0).log)]
    sizes: list[int] = []
    read = Files.pread

    def seen(self: Files, descriptor: int, size: int, position: int) -> bytes:
        sizes.append(size)
        return read(self, descriptor, size, position)

    monkeypatch.setattr(Files, "pread", seen)
    assert [offset for offset, *_ in log.replay(0)] == [*range(204)]
    # Beside the heads of batches: three and the beginning of the large one, that, and the last.
    assert [size for size in sizes if size > HEADER_BYTES] == [1000, *batch_sizes[3:]]


def test_what_is_superseded_is_forgotten(log: ShareStateLog) -> None:
    log.ensure()
    for _ in range(3):
        log.append(0, [tombstone(KEY)])
    log.delete_before(0, 2)
    assert [offset for offset, *_ in log.replay(0)] == [2]


def test_a_failed_append_is_a_failed_coordinator(services: Services) -> None:
    """The words are those of CoordinatorOperationExceptionHelper."""
    log = ShareStateLog(services.topics, lambda: NOW_MS)
    log.ensure()
    partition = log.partition(0)
    partition.replicas = partition.in_sync_replicas = [1, 2]
    partition.in_sync_replicas = []
    refused = code(lambda: log.append(0, [tombstone(KEY)]))
    assert refused is ErrorCode.COORDINATOR_NOT_AVAILABLE
