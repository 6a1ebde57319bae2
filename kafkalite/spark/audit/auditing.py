"""audit: every partition on Spark's executors, then what only the directory as a whole can tell."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from kafkalite.log.checkpoints import CorruptCheckpoint, TopicPartition, read_offsets
from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    CLEANER_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_CHECKPOINT,
    Files,
)
from kafkalite.spark.audit.findings import Finding, Findings, Severity
from kafkalite.spark.audit.partitions import AuditTask, PartitionAudit
from kafkalite.spark.audit.report import as_json, write_report
from kafkalite.spark.data_directory import is_held, list_partitions
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.jobs import run_parts, spark_session

# The least end offset of a log that lost nothing.
_REACHED: Final = (
    RECOVERY_POINT_CHECKPOINT,
    HIGH_WATERMARK_CHECKPOINT,
    LOG_START_OFFSET_CHECKPOINT,
    CLEANER_CHECKPOINT,
)


@dataclass(slots=True)
class Audit:
    """An audit's outcome."""

    data_dir: Path
    is_held: bool
    partitions: list[PartitionAudit]
    findings: list[Finding]
    counts: dict[str, int]
    """Findings by kind: all of them, while of each kind and partition only some are named."""
    seconds: float = 0.0

    @property
    def damage(self) -> list[Finding]:
        return [each for each in self.findings if each.severity is Severity.DAMAGE]

    @property
    def is_sound(self) -> bool:
        return not self.damage

    def write_json(self, path: Path) -> None:
        """Write audit.json of the report. Raises OSError."""
        path.write_bytes(as_json(self))

    def __str__(self) -> str:
        records = sum(each.records for each in self.partitions)
        size = sum(each.size for each in self.partitions)
        lines = [str(each) for each in self.findings]
        verdict = "sound" if self.is_sound else f"damaged ({len(self.damage)} findings)"
        return "\n".join(
            [
                *lines,
                (
                    f"audit: {len(self.partitions)} partitions, {records:,} records, "
                    f"{size:,} bytes in {self.seconds:.1f} s: {verdict}"
                ),
            ]
        )


def audit(
    data_dir: str | Path,
    *,
    topics: Sequence[str] = (),
    report_dir: str | Path | None = None,
    spark: Any = None,
    master: str | None = None,
    progress: bool = False,
) -> Audit:
    """Audit a data directory, kafkalite's or Apache Kafka's, whose broker may be running or not.

    Args:
        topics: all, Kafka's own included, if none is named.
        report_dir: where findings.parquet, partitions.parquet, audit.json and audit.html go.

    Raises PipelineError: it is no data directory, or cannot be read.
    """
    with ExitStack() as stack:
        plan = plan_audit(data_dir, topics)
        session = stack.enter_context(spark_session(spark, master))
        began = time.perf_counter()
        results = run_parts(session, AuditTask.run, plan.tasks)
        bar = tqdm(
            results, total=len(plan.tasks), unit=" partitions", desc="audit", disable=not progress
        )
        result = judge(plan, list(bar))
        result.seconds = time.perf_counter() - began
    if report_dir is not None:
        write_report(result, Path(report_dir))
    return result


@dataclass(slots=True)
class Plan:
    """The partitions to audit, and what the files of the directory itself say."""

    root: Path
    is_held: bool
    tasks: list[AuditTask]
    checkpoints: dict[str, dict[TopicPartition, int]]
    findings: Findings


def plan_audit(data_dir: str | Path, topics: Sequence[str] = ()) -> Plan:
    """A task for each partition. Raises PipelineError."""
    root = Path(data_dir).resolve()
    try:
        stored = [each for each in list_partitions(root) if not topics or each.topic in topics]
        held = is_held(root)
    except (SparkSourceError, OSError) as error:
        raise PipelineError(str(error)) from error
    for topic in topics:
        if topic not in {each.topic for each in stored}:
            raise PipelineError(f"{root} has no topic {topic!r}")
    findings = Findings()
    checkpoints = {name: _checkpoint(root, name, findings) for name in _REACHED}
    closed = (root / CLEAN_SHUTDOWN).exists() and not held
    tasks = [
        AuditTask(
            each.topic,
            each.partition,
            each.path.resolve(),
            held,
            closed,
            checkpoints[CLEANER_CHECKPOINT].get((each.topic, each.partition), 0),
        )
        for each in stored
    ]
    return Plan(root, held, tasks, checkpoints, findings)


def judge(plan: Plan, done: list[PartitionAudit]) -> Audit:
    """All partitions together."""
    findings = plan.findings
    if not plan.is_held:
        _check_ends(done, plan.checkpoints, findings)
    _check_topics(done, findings)
    counts = dict(findings.counts)
    for each in done:
        for kind, count in each.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    every = [*findings.found, *(finding for each in done for finding in each.findings)]
    every.sort(
        key=lambda each: (each.severity, each.topic, each.partition, each.file, each.position)
    )
    return Audit(plan.root, plan.is_held, done, every, counts)


def _checkpoint(root: Path, name: str, findings: Findings) -> dict[TopicPartition, int]:
    try:
        return read_offsets(Files(), root / name)
    except CorruptCheckpoint as error:
        findings.add("checkpoint", str(error).removeprefix(f"{root / name}: "), file=name)
        return {}


def _check_ends(
    done: list[PartitionAudit],
    checkpoints: dict[str, dict[TopicPartition, int]],
    findings: Findings,
) -> None:
    for each in done:
        for name, offsets in checkpoints.items():
            reached = offsets.get((each.topic, each.partition), 0)
            if reached > each.end_offset:
                findings.add(
                    "log-shortened",
                    f"{each.topic}-{each.partition} ends at {each.end_offset}, and had {reached}",
                    file=name,
                    offset=each.end_offset,
                )


def _check_topics(done: list[PartitionAudit], findings: Findings) -> None:
    by_topic: dict[str, list[PartitionAudit]] = {}
    for each in done:
        by_topic.setdefault(each.topic, []).append(each)
    for topic, partitions in by_topic.items():
        ids = {each.topic_id for each in partitions if each.topic_id is not None}
        if len(ids) > 1:
            findings.add("topic-id", f"{topic}'s partitions name {', '.join(sorted(ids))}")
        numbers = {each.partition for each in partitions}
        missing = gaps(numbers)
        if missing:
            findings.add("partition-missing", f"{topic} has no partition {', '.join(missing)} here")


def gaps(numbers: Collection[int]) -> list[str]:
    """The numbers below the highest that are not there, as `3` or `5-9`."""
    found: list[str] = []
    expected = 0
    for number in sorted(numbers):
        if number > expected:
            last = number - 1
            found.append(str(last) if last == expected else f"{expected}-{last}")
        expected = number + 1
    return found
