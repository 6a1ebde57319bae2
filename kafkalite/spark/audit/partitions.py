"""One partition's audit: what an executor does."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from kafkalite.log.checkpoints import CorruptCheckpoint, read_lines, read_topic_id
from kafkalite.log.files import (
    CLEANER_CHECKPOINT,
    LEADER_EPOCH_CHECKPOINT,
    PARTITION_METADATA,
    Files,
    parse_segment_file,
)
from kafkalite.spark.audit.batches import (
    Segment,
    check_epochs,
    check_headers,
    check_offsets,
    read_segments,
)
from kafkalite.spark.audit.findings import Finding, Findings, Severity
from kafkalite.spark.audit.indexes import (
    check_indexes,
    check_snapshots,
    check_transaction_indexes,
)
from kafkalite.spark.audit.producers import check_producers
from kafkalite.spark.audit.records import RecordCheck
from kafkalite.spark.data_directory import checkpoint
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.wire.record_batch import LOG_APPEND_TIME_FLAG

_LOOKS: Final = 3
_MOST_LOOKS: Final = 30
_PAUSE_SECONDS: Final = 1.0


@dataclass(slots=True)
class SegmentFacts:
    """A segment, for the plots: sizes in bytes, timestamps in milliseconds (-1: none)."""

    base_offset: int
    end_offset: int
    size: int
    batches: int
    records: int
    first_timestamp: int
    largest_timestamp: int
    codecs: dict[int, int]
    is_damaged: bool


@dataclass(slots=True)
class PartitionAudit:
    """The findings of one partition's log, and its figures. `data_dir` as in Finding."""

    data_dir: str
    topic: str
    partition: int
    start_offset: int
    end_offset: int
    records: int
    value_bytes: int
    size: int
    producers: int
    committed: int
    aborted: int
    open_transactions: int
    topic_id: str | None
    timestamps_back: int
    segments: list[SegmentFacts] = field(default_factory=list[SegmentFacts])
    findings: list[Finding] = field(default_factory=list[Finding])
    counts: dict[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class AuditTask:
    """A partition's log to audit.

    Attributes:
        data_dir: as in Finding.
        is_held: a broker is running on it.
        is_closed: a broker closed it: nothing may be half done.
        clean_up_to: up to where it is compacted, by the cleaner's checkpoint; 0 if it is not.
        committed: the high watermark, by the broker's checkpoint; 0 if that has none.
    """

    data_dir: str
    topic: str
    partition: int
    path: Path
    is_held: bool
    is_closed: bool
    clean_up_to: int
    committed: int

    def run(self) -> tuple[PartitionAudit, list[Segment]]:
        """The findings, and what was read. Raises PipelineError when the files cannot be read.

        While a broker runs, retention and compaction go on, and a log's files are not all of one
        moment. Damage is what several looks find in files that stayed.
        """
        task = self
        steady = 0
        for _ in range(_MOST_LOOKS):
            try:
                files = self._files()
                audit, segments = task._run()
                is_sound = all(each.severity is not Severity.DAMAGE for each in audit.findings)
                if is_sound or not self.is_held:
                    return audit, segments
                steady += files.items() <= self._files().items()
            except OSError as error:
                if not isinstance(error, FileNotFoundError) or not self.is_held:
                    raise PipelineError(f"{self.path} cannot be read: {error}") from error
            else:
                if steady == _LOOKS:
                    return audit, segments
            time.sleep(_PAUSE_SECONDS)
            task = replace(self, clean_up_to=self._clean_up_to())
        raise PipelineError(f"{self.path} changed while it was read; try again")

    def _files(self) -> dict[str, int]:
        """The segments' files: a name is another file when the cleaner has replaced it."""
        with os.scandir(self.path) as entries:
            return {each.name: each.inode() for each in entries if parse_segment_file(each.name)}

    def _clean_up_to(self) -> int:
        """The newest: the cleaner writes it when its segments are in place."""
        found = checkpoint(self.path.parent, CLEANER_CHECKPOINT)
        return max(self.clean_up_to, found.get((self.topic, self.partition), 0))

    def _run(self) -> tuple[PartitionAudit, list[Segment]]:
        findings = Findings(self.topic, self.partition, self.data_dir)
        segments = read_segments(self.path, findings, is_held=self.is_held)
        check_offsets(segments, findings, self.clean_up_to)
        back = check_headers(segments, findings)
        if back:
            findings.add(
                "timestamps-go-back", f"{back} batches have earlier ones than those before"
            )
        check_epochs(segments, self._epochs(findings), findings)
        transactions = check_producers(segments, findings, self.clean_up_to)
        records = RecordCheck(findings, self.clean_up_to)
        for segment in segments:
            records.check(segment)
            check_indexes(segment, findings, is_closed=self.is_closed)
        records.finish()
        check_transaction_indexes(
            segments, transactions.aborted, findings, self.clean_up_to, is_closed=self.is_closed
        )
        check_snapshots(self.path, segments, findings, self.clean_up_to)
        topic_id = self._topic_id(findings)
        producers = {
            int(each)
            for segment in segments
            for each in set(segment.fields["producer_id"].tolist())
            if each >= 0
        }
        facts = [_facts(segment) for segment in segments]
        audit = PartitionAudit(
            self.data_dir,
            self.topic,
            self.partition,
            facts[0].base_offset if facts else 0,
            facts[-1].end_offset if facts else 0,
            records.rows,
            records.value_bytes,
            sum(segment.size for segment in segments),
            len(producers),
            transactions.committed,
            len(transactions.aborted),
            len(transactions.open),
            topic_id,
            back,
            facts,
            findings.found,
            findings.counts,
        )
        return audit, segments

    def _epochs(self, findings: Findings) -> list[tuple[int, int]] | None:
        path = self.path / LEADER_EPOCH_CHECKPOINT
        try:
            return [(int(epoch), int(start)) for epoch, start in read_lines(Files(), path)]
        except (CorruptCheckpoint, ValueError) as error:
            findings.add("checkpoint", str(error).removeprefix(f"{path}: "), file=path.name)
            return None

    def _topic_id(self, findings: Findings) -> str | None:
        path = self.path / PARTITION_METADATA
        try:
            topic_id = read_topic_id(Files(), path)
        except CorruptCheckpoint as error:
            findings.add("partition-metadata", str(error).removeprefix(f"{path}: "), file=path.name)
            return None
        if topic_id is None:
            findings.add("partition-metadata", "is not there", file=path.name)
            return None
        return str(topic_id)


def _first_timestamp(first: Any) -> int:
    """Taken from the first batch. Where the broker stamps records, a producer's clock says
    nothing."""
    is_stamped = first["attributes"] & LOG_APPEND_TIME_FLAG
    return int(first["max_timestamp" if is_stamped else "base_timestamp"])


def _facts(segment: Segment) -> SegmentFacts:
    fields = segment.fields
    codecs: dict[int, int] = {}
    for codec in (fields["attributes"] & 7).tolist():
        codecs[codec] = codecs.get(codec, 0) + 1
    count = len(fields)
    return SegmentFacts(
        segment.base_offset,
        int(segment.last_offsets.max()) + 1 if count else segment.base_offset,
        segment.size,
        count,
        int(fields["record_count"].astype("i8").sum()),
        _first_timestamp(fields[0]) if count else -1,
        int(fields["max_timestamp"].max()) if count else -1,
        codecs,
        segment.is_damaged,
    )
