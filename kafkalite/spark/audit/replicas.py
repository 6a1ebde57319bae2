"""One partition's replicas: each audited, then held against the one that is to be read first.

Replicas hold the same batches up to the high watermark, byte for byte, but for what retention or
DeleteRecords removed and what compaction rewrote, which each broker does for itself. Source:
Kafka's ReplicaVerificationTool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kafkalite.spark.audit.batches import Segment
from kafkalite.spark.audit.findings import Findings
from kafkalite.spark.audit.partitions import AuditTask, PartitionAudit
from kafkalite.spark.batch_headers import HEADER_DTYPE

# Two batches differ if one of these does: the offset, the leader, the checksum of the rest.
_TOLD_BY = ["base_offset", "partition_leader_epoch", "crc"]


@dataclass(frozen=True, slots=True)
class _Replica:
    """A replica's batches, as far as they are compared, and the bounds of its log."""

    task: AuditTask
    start_offset: int
    end_offset: int
    batches: Any


@dataclass(frozen=True, slots=True)
class ReplicasTask:
    """A partition to audit: its replicas, the one to read first at the beginning."""

    replicas: tuple[AuditTask, ...]

    def run(self) -> list[PartitionAudit]:
        """One for each replica. Raises PipelineError when the files cannot be read."""
        if len(self.replicas) == 1:
            return [self.replicas[0].run()[0]]
        done: list[PartitionAudit] = []
        seen: list[_Replica] = []
        for task in self.replicas:
            audit, segments = task.run()
            done.append(audit)
            batches = _batches(segments)
            seen.append(_Replica(task, audit.start_offset, audit.end_offset, batches))
        known = max(task.committed for task in self.replicas)
        for audit, replica in zip(done, seen, strict=True):
            findings = Findings(audit.topic, audit.partition, audit.data_dir)
            _compare(seen[0], replica, findings)
            if replica.end_offset < known and not replica.task.is_held:
                findings.add("replica-behind", f"{known} is committed", offset=replica.end_offset)
            audit.findings += findings.found
            audit.counts |= findings.counts
        return done


def _batches(segments: list[Segment]) -> Any:
    tables = [segment.fields for segment in segments]
    return np.concatenate([np.empty(0, HEADER_DTYPE), *tables])[_TOLD_BY].copy()


def _compare(first: _Replica, other: _Replica, findings: Findings) -> None:
    """Find the committed batches that one of them has otherwise, where both keep all of them."""
    start = max(
        *(each.start_offset for each in (first, other)),
        *(each.task.clean_up_to for each in (first, other)),
    )
    end = min(
        *(each.end_offset for each in (first, other)),
        *(each.task.committed for each in (first, other)),
    )
    ours, theirs = (_between(each.batches, start, end) for each in (first, other))
    if np.array_equal(ours, theirs):
        return
    differing = np.setxor1d(ours, theirs)
    for offset in np.unique(differing["base_offset"]).tolist():
        findings.add(
            "replica-differs", f"{first.task.path.parent} has another batch there", offset=offset
        )


def _between(batches: Any, start: int, end: int) -> Any:
    offsets = batches["base_offset"]
    return batches[(offsets >= start) & (offsets < end)]
