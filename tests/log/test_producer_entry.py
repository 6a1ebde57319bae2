"""One producer of a partition: its last five batches, its epoch."""

from kafkalite.log.accepted_batch import AcceptedBatch
from kafkalite.log.producer_entry import BatchMetadata, ProducerEntry
from kafkalite.wire.record_batch import TRANSACTIONAL_FLAG


def batch(
    base_sequence: int,
    count: int = 1,
    *,
    max_timestamp: int = 100,
    producer_id: int = 7,
    producer_epoch: int = 0,
    is_transactional: bool = False,
) -> AcceptedBatch:
    """A producer's batch of so many records."""
    attributes = TRANSACTIONAL_FLAG if is_transactional else 0
    by = producer_id, producer_epoch, base_sequence
    return AcceptedBatch(0, b"", 0, attributes, count - 1, max_timestamp, *by, count)


def test_a_new_producer_has_no_batch() -> None:
    entry = ProducerEntry(7)
    assert (entry.last_sequence, entry.last_offset) == (-1, -1)
    assert (entry.producer_epoch, entry.coordinator_epoch, entry.last_timestamp) == (-1, -1, -1)
    assert entry.transaction_first_offset is None


def test_the_last_batch_is_told() -> None:
    entry = ProducerEntry(7)
    entry.appended(batch(0, 3, max_timestamp=100), 50)
    entry.appended(batch(3, 2, max_timestamp=90), 60)
    assert (entry.last_sequence, entry.last_offset) == (4, 61)
    assert entry.last_timestamp == 90
    assert [(b.first_sequence, b.first_offset) for b in entry.batches] == [(0, 50), (3, 60)]


def test_five_batches_are_remembered() -> None:
    entry = ProducerEntry(7)
    for i in range(8):
        entry.appended(batch(i), 100 + i)
    assert [each.last_offset for each in entry.batches] == [103, 104, 105, 106, 107]


def test_a_sequence_wraps() -> None:
    batch = BatchMetadata(last_sequence=1, last_offset=10, offset_delta=3, timestamp=0)
    assert (batch.first_sequence, batch.first_offset) == (2**31 - 2, 7)


def test_a_new_epoch_forgets_the_batches_of_the_old() -> None:
    entry = ProducerEntry(7, producer_epoch=3)
    entry.appended(batch(5), 10)
    entry.begin_epoch(3)
    assert entry.last_sequence == 5
    entry.begin_epoch(4)
    assert (entry.producer_epoch, entry.last_sequence, entry.last_offset) == (4, -1, -1)
