"""A log against a list: whatever is done to it in whatever order, it holds what the list holds."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from kafkalite.log.cleaner import cleanable_part
from kafkalite.log.compaction import Compaction
from kafkalite.log.config import LogConfig
from kafkalite.log.files import Files
from kafkalite.log.log import AppendOrigin, Log
from kafkalite.log.open_files import FileSlice, OpenFiles
from kafkalite.log.opening import open_log
from kafkalite.wire.compression import Compression
from kafkalite.wire.control_records import build_end_transaction_marker
from kafkalite.wire.errors import KafkaError
from kafkalite.wire.record_batch import Record, build_batch, iterate_batches, iterate_records

START_MS = 1_700_000_000_000
NO_TRANSACTION = 0
KEYS = [b"a", b"b", b"c", b"d"]


class PromptFiles(Files):
    """Waits for no disk."""

    def sync(self, descriptor: int) -> None:
        return

    def sync_directory(self, path: Path) -> None:
        return


class LogMachine(RuleBasedStateMachine):
    """The model: a list of records by offset (None: a control record), and who wrote them."""

    slices = Bundle("slices")

    def __init__(self) -> None:
        super().__init__()
        shared = Path("/dev/shm")
        self.root = Path(tempfile.mkdtemp(dir=shared if shared.is_dir() else None))
        self.now_ms = START_MS
        self.records: dict[int, Record | None] = {}
        self.start = 0
        self.end = 0
        self.sequences: dict[int, int] = {}
        self.open_transactions: dict[int, int] = {}  # producer -> first offset
        self.aborted: set[int] = set()  # offsets
        self.pending: dict[int, list[int]] = {}
        self.is_compacted = False
        self.was_truncated = False

    @initialize(
        segment_bytes=st.sampled_from([150, 400, 1 << 20]),
        interval=st.sampled_from([0, 100, 4096]),
        limit=st.sampled_from([1, 3, 100]),
        compact=st.booleans(),
    )
    def open(self, segment_bytes: int, interval: int, limit: int, compact: bool) -> None:
        self.open_files = OpenFiles(limit=limit, files=PromptFiles())
        self.config = LogConfig(
            segment_bytes=segment_bytes,
            index_interval_bytes=interval,
            cleanup_policy=("compact",) if compact else ("delete",),
            retention_ms=10_000,
            file_delete_delay_ms=0,
            delete_retention_ms=10**12,
        )
        self.log = self.opened(is_clean=False)

    def opened(self, *, is_clean: bool) -> Log:
        log = open_log(
            self.root / "t-0",
            self.config,
            now_ms=lambda: self.now_ms,
            open_files=self.open_files,
            log_start_offset=self.start,
            clean_shutdown=is_clean,
        )
        log.advance_high_watermark(self.end)
        return log

    @rule(
        keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=4),
        value=st.none() | st.binary(max_size=30),
        codec=st.sampled_from([Compression.NONE, Compression.GZIP, Compression.LZ4]),
        producer=st.sampled_from([-1, 1, 2]),
        transactional=st.booleans(),
        wait=st.sampled_from([0, 1, 3000]),
    )
    def append(
        self,
        keys: list[bytes],
        value: bytes | None,
        codec: Compression,
        producer: int,
        transactional: bool,
        wait: int,
    ) -> None:
        self.now_ms += wait
        records = [Record(timestamp=self.now_ms, key=key, value=value) for key in keys]
        in_transaction = producer > 0 and (transactional or producer in self.open_transactions)
        batch = build_batch(
            records,
            compression=codec,
            producer_id=producer,
            producer_epoch=0 if producer > 0 else -1,
            base_sequence=self.sequences.get(producer, 0) if producer > 0 else -1,
            is_transactional=in_transaction,
        )
        if len(batch) > self.config.segment_bytes:
            with pytest.raises(KafkaError, match="RECORD_LIST_TOO_LARGE"):
                self.log.append(batch, leader_epoch=0)
            return
        info = self.log.append(batch, leader_epoch=0)
        assert (info.base_offset, info.last_offset) == (self.end, self.end + len(keys) - 1)
        for i, record in enumerate(records):
            self.records[self.end + i] = record._replace(offset=self.end + i)
        if producer > 0:
            self.sequences[producer] = self.sequences.get(producer, 0) + len(keys)
        if in_transaction:
            self.open_transactions.setdefault(producer, self.end)
            offsets = range(self.end, self.end + len(keys))
            self.pending.setdefault(producer, []).extend(offsets)
        self.end += len(keys)
        self.log.advance_high_watermark(self.end)
        if producer > 0:
            again = self.log.append(batch, leader_epoch=0)
            assert (again.is_duplicate, again.base_offset) == (True, info.base_offset)

    @rule(producer=st.sampled_from([1, 2]), commit=st.booleans())
    def end_transaction(self, producer: int, commit: bool) -> None:
        if producer not in self.open_transactions:
            return
        marker = build_end_transaction_marker(
            producer_id=producer,
            producer_epoch=0,
            commit=commit,
            coordinator_epoch=0,
            timestamp=self.now_ms,
        )
        self.log.append(marker, leader_epoch=0, origin=AppendOrigin.COORDINATOR)
        self.records[self.end] = None
        self.end += 1
        del self.open_transactions[producer]
        offsets = self.pending.pop(producer)
        if not commit:
            self.aborted.update(offsets)
        self.log.advance_high_watermark(self.end)

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.flush()
        assert self.log.recovery_point == self.end

    @rule()
    def retain(self) -> None:
        self.log.retain()
        self.start = self.log.log_start_offset
        if not self.config.delete:
            return
        kept = [r for o, r in self.records.items() if o >= self.start and r is not None]
        old = [r for r in kept if self.now_ms - r.timestamp > self.config.retention_ms]
        # Only such as share a segment with one that is not old.
        assert not old or len(old) < len(kept) or len(self.log.segments) == 1

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        offset = self.start + int(share * (self.end - self.start))
        self.start = self.log.delete_records_before(offset)
        assert self.start == offset

    @rule()
    def compact(self) -> None:
        if not self.config.compact:
            return
        part = cleanable_part(self.log, None)
        run = Compaction(self.log, part.first_dirty_offset, part.first_uncleanable_offset, 1000)
        for step in run.run():
            if step.work is not None:
                step.work()
        self.is_compacted = True

    @rule(is_clean=st.booleans())
    def restart(self, is_clean: bool) -> None:
        if is_clean:
            self.log.close()
        else:
            self.log.leader_epochs.write()
            self.log.close_files()
        self.log = self.opened(is_clean=is_clean)

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        # A follower does this. Not across a transaction or a producer's batch: the model keeps
        # these simple.
        if self.sequences or self.is_compacted:
            return
        offset = self.start + int(share * (self.end - self.start))
        self.log.truncate_to(offset)
        self.was_truncated = True
        self.end = self.log.log_end_offset
        assert self.end <= max(offset, self.start)
        self.records = {o: r for o, r in self.records.items() if o < self.end}
        self.start = self.log.log_start_offset

    @rule(target=slices, share=st.floats(0, 1))
    def hold(self, share: float) -> tuple[FileSlice | None, bytes]:
        offset = self.start + int(share * (self.end - self.start))
        records = self.log.read(offset, 500, upper_bound=self.end).records
        if isinstance(records, bytes):
            return None, b""
        return records, records.read()

    @rule(held=slices)
    def a_slice_stays_what_it_was(self, held: tuple[FileSlice | None, bytes]) -> None:
        records, data = held
        if records is not None and not self.was_truncated:
            assert records.read() == data

    @rule(wait=st.sampled_from([0, 1500, 4000]), share=st.floats(0, 1))
    def look_up_a_time(self, wait: int, share: float) -> None:
        time = START_MS + int(share * (self.now_ms - START_MS)) + wait
        if self.is_compacted:
            return
        found = self.log.offset_for_timestamp(time)
        expected = [
            (r.timestamp, o)
            for o, r in sorted(self.records.items())
            if o >= self.start and r is not None and r.timestamp >= time
        ]
        if found is None and any(
            r is not None and r.timestamp >= time for o, r in self.records.items() if o < self.start
        ):
            return  # their segment is the one that is looked at
        # Control records have timestamps, too.
        if found is None or self.records[found.offset] is not None:
            assert (found and found[:2]) == (expected[0] if expected else None)

    @invariant()
    def offsets_are_the_models(self) -> None:
        if not hasattr(self, "log"):
            return
        assert (self.log.log_start_offset, self.log.log_end_offset) == (self.start, self.end)
        unstable = list(self.open_transactions.values())
        assert self.log.last_stable_offset == max(
            min([*unstable, self.end]), min(self.start, self.end)
        )

    @invariant()
    def the_log_holds_what_the_list_holds(self) -> None:
        if not hasattr(self, "log"):
            return
        found = self.read_all()
        expected = {o: r for o, r in self.records.items() if o >= self.start}
        if not self.is_compacted:
            assert found == expected
            return
        assert found.items() <= expected.items()
        assert self.table(found) == self.table(expected)

    def table(self, records: dict[int, Record | None]) -> dict[bytes | None, bytes | None]:
        return {
            r.key: r.value
            for o, r in sorted(records.items())
            if r is not None and o not in self.aborted
        }

    def read_all(self) -> dict[int, Record | None]:
        found: dict[int, Record | None] = {}
        offset = self.start
        while offset < self.end:
            records = self.log.read(offset, 300, upper_bound=self.end).records
            if isinstance(records, bytes):
                break
            with records:
                batches = list(iterate_batches(records.read()))
            assert batches[0].last_offset >= offset
            for batch in batches:
                for record in iterate_records(batch):
                    if record.offset >= self.start:
                        found[record.offset] = None if batch.is_control else record
            offset = batches[-1].next_offset
        return found

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close_files()
        shutil.rmtree(self.root, ignore_errors=True)


LogMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
TestLog = pytest.mark.slow(LogMachine.TestCase)
