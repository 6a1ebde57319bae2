"""A partition's records over the network, as Arrow: Fetch, then decoded as segment files are."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from kafkalite.spark.aborted_transactions import Aborted, is_aborted, markers
from kafkalite.spark.batch_headers import walk
from kafkalite.spark.client import FETCH_BYTES, Client, TopicPartition
from kafkalite.spark.data_directory import Isolation
from kafkalite.spark.decode import decode
from kafkalite.spark.decompress import unfold
from kafkalite.spark.errors import BrokerError, DamagedLog, OffsetOutOfRange
from kafkalite.spark.segment_reader import between
from kafkalite.spark.vectorized_records import CorruptRecords

# So many seconds a partition may answer with nothing where it has something.
PATIENCE = 60.0


def fetch_partition(
    client: Client,
    partition: TopicPartition,
    start_offset: int,
    end_offset: int,
    *,
    isolation: Isolation = Isolation.READ_UNCOMMITTED,
    include_headers: bool = False,
    fetch_bytes: int = FETCH_BYTES,
) -> Iterator[pa.RecordBatch]:
    """The records with offsets in [start_offset, end_offset), as `read_partition` gives them.

    Raises:
        OffsetOutOfRange: they are not there any more, or the end is behind the partition's.
        DamagedLog: what came is not what was written.
        BrokerError, UnknownTopic: as `Client`; nothing comes, and it should.
    """
    name = f"{partition[0]}-{partition[1]}"
    offset, deadline = start_offset, time.monotonic() + PATIENCE
    while offset < end_offset:
        fetched = client.fetch(partition, offset, isolation=isolation, max_bytes=fetch_bytes)
        data = fetched.records
        headers = walk(data, check_crc=True)
        if not len(headers.positions):
            limit = (
                fetched.last_stable_offset
                if isolation is Isolation.READ_COMMITTED
                else fetched.high_watermark
            )
            if headers.damage is not None:
                raise DamagedLog(f"{name}: no batch came for offset {offset}, but {headers.damage}")
            if len(data):  # the first batch comes whole, however large it is (KIP-74)
                raise DamagedLog(
                    f"{name}: of the batch at offset {offset} came {len(data)} bytes, not all of it"
                )
            if offset >= limit:
                raise OffsetOutOfRange(f"{name} ends at offset {limit}, before {end_offset}")
            # an empty answer below the end: the broker was in a hurry
            if time.monotonic() > deadline:
                raise BrokerError(f"{name}: nothing came from offset {offset} on in {PATIENCE:g} s")
            continue
        if headers.crc_ok is not None and not headers.crc_ok.all():
            bad = int(headers.base_offsets[int(np.argmin(headers.crc_ok))])
            raise DamagedLog(f"{name}: the checksum of the batch at offset {bad} does not match")
        behind = int(headers.last_offsets[-1]) + 1
        if behind < end_offset:
            client.fetch_ahead(partition, behind, isolation=isolation, max_bytes=fetch_bytes)
        which = (headers.last_offsets >= offset) & (headers.base_offsets < end_offset)
        if fetched.aborted:
            aborted = _until_markers(fetched.aborted, markers(data, headers), behind)
            which &= ~is_aborted(headers, aborted)
        try:
            for unfolded in unfold(data, headers.select(which)):
                records = decode(unfolded, *partition, include_headers=include_headers)
                records = between(records, offset, end_offset)
                if records.num_rows:
                    yield records
        except CorruptRecords as error:
            raise DamagedLog(
                f"{name}: the records of the batches from offset {offset} on "
                f"cannot be read: {error}"
            ) from error
        offset, deadline = behind, time.monotonic() + PATIENCE


def _until_markers(
    aborted: list[tuple[int, int]], found: list[Aborted], end_offset: int
) -> list[Aborted]:
    """A Fetch names where aborted transactions begin; they end with their producer's next abort
    marker."""
    result: list[Aborted] = []
    for producer_id, first_offset in aborted:
        ends = [
            each.last_offset
            for each in found
            if each.producer_id == producer_id and each.last_offset >= first_offset
        ]
        result.append(Aborted(producer_id, first_offset, min(ends, default=end_offset)))
    return result
