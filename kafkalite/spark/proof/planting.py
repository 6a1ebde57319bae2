"""Bugs to be found: what a broker would leave that loses a batch it acknowledged, or writes one
twice.

They are planted into the source topic's last segment while the broker is dead, in a batch that
Spark has not read yet.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from kafkalite.log.files import LOG_SUFFIX
from kafkalite.spark.proof.source import SOURCE
from kafkalite.wire.record_batch import NO_TIMESTAMP, RecordBatch, iterate_batches, pack_batch

LOST_BATCH: Final = "lost-batch"
REPEATED_BATCH: Final = "repeated-batch"
PLANTS: Final = (LOST_BATCH, REPEATED_BATCH)


def plant(bug: str, data_dir: Path, read_up_to: Mapping[int, int]) -> bool:
    """Plant a bug behind what Spark has planned to read; whether there was a batch for it."""
    for directory in sorted(data_dir.glob(f"{SOURCE}-*")):
        partition = int(directory.name.rpartition("-")[2])
        path = max(directory.glob(f"*{LOG_SUFFIX}"), default=None)
        if path is None:
            continue
        batches = list(iterate_batches(path.read_bytes()))
        if not batches or batches[-1].base_offset < read_up_to.get(partition, 0):
            continue
        _rewrite(path, batches, bug)
        return True
    return False


def _rewrite(path: Path, batches: list[RecordBatch], bug: str) -> None:
    last = batches[-1]
    kept = [bytes(batch.buffer) for batch in batches]
    if bug == LOST_BATCH:  # offsets and sequences go on, and no client is told
        kept[-1] = pack_batch(
            b"",
            base_offset=last.base_offset,
            last_offset_delta=last.last_offset_delta,
            record_count=0,
            base_timestamp=NO_TIMESTAMP,
            max_timestamp=last.max_timestamp,
            producer_id=last.producer_id,
            producer_epoch=last.producer_epoch,
            base_sequence=last.base_sequence,
            partition_leader_epoch=last.partition_leader_epoch,
        )
    else:
        kept.append(last.next_offset.to_bytes(8, "big") + kept[-1][8:])
    temporary = path.with_suffix(".new")
    temporary.write_bytes(b"".join(kept))
    os.replace(temporary, path)
