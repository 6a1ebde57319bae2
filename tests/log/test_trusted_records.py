"""Trusted pairs are records in a batch's inner format."""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkalite.log.config import LogConfig
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.log.open_files import OpenFiles
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import Record, build_batch
from kafkalite.wire.record_format import Pair
from tests.log.appending import CONFIGS, SMALL, as_seen, content
from tests.log.conftest import Disk
from tests.log.faults import PromptFiles

TIMESTAMP = 1_700_000_000_000


def batch_of(pairs: list[Pair], timestamp: int, producer: tuple[int, int] | None) -> bytes:
    records = [Record(timestamp=timestamp, key=key, value=value) for key, value in pairs]
    if producer is None:
        return build_batch(records)
    return build_batch(
        records, producer_id=producer[0], producer_epoch=producer[1], is_transactional=True
    )


def answer_of(log: Log, append: Callable[[], int]) -> Any:
    try:
        answer: Any = append()
    except KafkaError as error:
        answer = error.code, str(error.message).replace(log.name, "")
    return as_seen(log, answer)


def appended_as_coordinator(log: Log, batch: bytes, epoch: int) -> int:
    return log.append(batch, leader_epoch=epoch, origin=AppendOrigin.COORDINATOR).base_offset


TRUSTED_CONFIGS = CONFIGS | st.sampled_from(
    [
        LogConfig(cleanup_policy=("compact",)),
        replace(SMALL, segment_bytes=300),
        replace(SMALL, max_compaction_lag_ms=20_000, cleanup_policy=("compact",)),
    ]
)


PAIRS = st.lists(
    st.tuples(st.binary(max_size=100), st.none() | st.binary(max_size=300)), min_size=1, max_size=4
)


TRUSTED_STEPS = st.lists(
    st.tuples(
        PAIRS,
        st.sampled_from([0, 0, 0, 1]),
        st.integers(0, 40_000),
        st.sampled_from([None, None, (7, 0), (7, 1), (8, 0)]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=120)
@given(TRUSTED_CONFIGS, TRUSTED_STEPS)
def test_trusted_pairs_lie_there_as_if_appended_as_a_batch(
    config: LogConfig, steps: list[Any]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        disk = Disk(Path(directory), open_files=OpenFiles(files=PromptFiles()))
        trusted, plain = disk.log("trusted-0", config), disk.log("plain-0", config)
        epoch = 0
        for pairs, epochs, milliseconds, producer in steps:
            epoch += epochs
            disk.now_ms += milliseconds
            pairs_answer = answer_of(
                trusted, partial(trusted.append_trusted, pairs, disk.now_ms, epoch, producer)
            )
            batch = batch_of(pairs, disk.now_ms, producer)
            assert pairs_answer == answer_of(
                plain, partial(appended_as_coordinator, plain, batch, epoch)
            )
        assert content(trusted) == content(plain)
        assert trusted.last_stable_offset == plain.last_stable_offset
        trusted.close()
        plain.close()
