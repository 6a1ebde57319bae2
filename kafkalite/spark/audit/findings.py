"""The findings of an audit: a name for each, and what it means."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Severity(StrEnum):
    """Damage makes the exit code non-zero; a note is a fact worth knowing."""

    DAMAGE = "damage"
    NOTE = "note"


_DAMAGE, _NOTE = Severity.DAMAGE, Severity.NOTE

KINDS: Final[dict[str, tuple[Severity, str]]] = {
    # the bytes of the log
    "checksum": (_DAMAGE, "a batch's CRC-32C is not that of its bytes"),
    "torn-tail": (_DAMAGE, "the log's last batch is cut short"),
    "zeroed-tail": (_DAMAGE, "the log ends in zeros: space that was never written"),
    "cut-batch": (_DAMAGE, "a segment that others follow ends within a batch"),
    "batch-length": (_DAMAGE, "a batch has a length that cannot be"),
    "magic": (_DAMAGE, "a batch is of another format than v2"),
    "header": (_DAMAGE, "a batch's header holds values that cannot be"),
    # offsets
    "offset-gap": (
        _DAMAGE,
        "offsets are missing between two batches of a log that is not compacted",
    ),
    "offset-overlap": (_DAMAGE, "a batch begins at or before the offset where the one before ends"),
    "segment-missing": (_DAMAGE, "a segment does not begin where the one before ends"),
    "segment-name": (_DAMAGE, "a segment's first batch lies before the offset in its name"),
    # records
    "compression": (_DAMAGE, "a batch's records do not decompress"),
    "records": (_DAMAGE, "a batch's records do not add up"),
    "record-offsets": (_DAMAGE, "offsets in a batch do not ascend, or leave the batch"),
    "largest-timestamp": (_DAMAGE, "a batch's largest timestamp is not that of its records"),
    "time-goes-back": (_DAMAGE, "the broker's own timestamps go back"),
    "timestamps-go-back": (_NOTE, "producers' timestamps go back"),
    "timestamp-too-far": (_NOTE, "a producer's timestamp is beyond Spark's: no source can read it"),
    "leader-epoch": (_DAMAGE, "leader epochs go back, or are not those of the checkpoint"),
    # producers and transactions
    "sequence-duplicate": (_DAMAGE, "a producer's (epoch, sequence) is there twice"),
    "sequence-gap": (_DAMAGE, "a producer's sequence skips records"),
    "producer-epoch": (_DAMAGE, "a producer's epoch goes back"),
    "mixed-transaction": (_DAMAGE, "a producer wrote outside the transaction that it had open"),
    "open-transaction": (_NOTE, "a transaction is open at the end of the log"),
    "transaction-index": (_DAMAGE, "aborted transactions and their index differ"),
    # compaction
    "compaction": (_DAMAGE, "a key is there twice in the part of a log that is clean"),
    "null-key": (_DAMAGE, "a compacted log has records without a key"),
    # files beside the log
    "index-missing": (_DAMAGE, "a finished segment has no offset or time index"),
    "index-size": (_DAMAGE, "an index is not a whole number of entries"),
    "index-order": (_DAMAGE, "an index's entries do not ascend"),
    "offset-index": (_DAMAGE, "an offset index's entry does not lead to its batch"),
    "time-index": (_DAMAGE, "a time index's entry is not the largest timestamp up to its offset"),
    "snapshot": (_DAMAGE, "a producer snapshot cannot be read, or is not what the log says"),
    "checkpoint": (_DAMAGE, "a checkpoint file cannot be read"),
    "log-shortened": (_DAMAGE, "the log ends before an offset that a checkpoint says it reached"),
    "partition-metadata": (_DAMAGE, "a partition does not say which topic it belongs to"),
    "topic-id": (_DAMAGE, "partitions of one topic say that they belong to different ones"),
    "replica-differs": (_DAMAGE, "a replica has other committed batches than the first"),
    "replica-behind": (_NOTE, "a replica ends before what is committed"),
    "partition-missing": (_NOTE, "partitions of a topic are in none of the directories"),
    "left-over": (_NOTE, "a file that was on its way in or out when the broker ended"),
    "active-tail": (_NOTE, "a running broker is writing the log's last batch"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found. `position` is a byte in `file`; -1 and "" where there is none.
    `data_dir` is "" where one directory alone is audited, or several together are meant."""

    data_dir: str
    kind: str
    topic: str
    partition: int
    file: str
    position: int
    offset: int
    message: str

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind][0]

    def __str__(self) -> str:
        log = f"{self.topic}-{self.partition}" if self.topic else ""
        where = "/".join(each for each in (self.data_dir, log, self.file) if each)
        if self.position >= 0:
            where += f" at {self.position}"
        if self.offset >= 0:
            where += f", offset {self.offset}"
        return f"{self.severity} {self.kind}: {where}: {self.message}"


class Findings:
    """Collects what is found in one partition; of each kind so many are named, the rest counted."""

    MOST_OF_A_KIND: Final = 20

    def __init__(self, topic: str = "", partition: int = -1, data_dir: str = "") -> None:
        self._data_dir = data_dir
        self._topic = topic
        self._partition = partition
        self.found: list[Finding] = []
        self.counts: dict[str, int] = {}

    def take(self, others: Findings) -> None:
        """Add the findings of others."""
        self.found += others.found
        for kind, count in others.counts.items():
            self.counts[kind] = self.counts.get(kind, 0) + count

    def add(
        self, kind: str, message: str, *, file: str = "", position: int = -1, offset: int = -1
    ) -> None:
        """Note something. KeyError for a kind that is not in the table."""
        assert kind in KINDS, kind
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= self.MOST_OF_A_KIND:
            self.found.append(
                Finding(
                    self._data_dir,
                    kind,
                    self._topic,
                    self._partition,
                    file,
                    int(position),
                    int(offset),
                    message,
                )
            )
