"""audit: every partition on Spark's executors, then what only the directories as a whole can tell.

Several directories are those of one broker, or of the brokers of a cluster: the replicas of a
partition are held against each other.
"""

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
from kafkalite.spark.audit.replicas import ReplicasTask
from kafkalite.spark.audit.report import as_json, write_report
from kafkalite.spark.data_directory import is_held
from kafkalite.spark.errors import SparkSourceError
from kafkalite.spark.local_path import local_path
from kafkalite.spark.pipelines.errors import PipelineError
from kafkalite.spark.pipelines.jobs import run_parts, spark_session
from kafkalite.spark.pipelines.stored import DataDirs, as_paths, check_is_apart
from kafkalite.spark.replicas import find_replicas

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

    directories: list[Directory]
    partitions: list[PartitionAudit]
    """One for each replica."""
    findings: list[Finding]
    counts: dict[str, int]
    """Findings by kind: all of them, while of each kind and log only some are named."""
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
                    f"audit: {self.extent}, {records:,} records, "
                    f"{size:,} bytes in {self.seconds:.1f} s: {verdict}"
                ),
            ]
        )

    @property
    def extent(self) -> str:
        """The amount that was audited, as `3 partitions` or `9 replicas of 3 partitions`."""
        partitions = len({(each.topic, each.partition) for each in self.partitions})
        said = f"{partitions} partitions"
        if len(self.directories) > 1:
            said = f"{len(self.partitions)} replicas of {said}"
        return said


def audit(
    data_dir: DataDirs,
    *,
    topics: Sequence[str] = (),
    report_dir: str | Path | None = None,
    spark: Any = None,
    master: str | None = None,
    progress: bool = False,
) -> Audit:
    """Audit a data directory, kafkalite's or Apache Kafka's, whose broker may be running or not.

    Args:
        data_dir: several are those of one broker, or of the brokers of a cluster.
        topics: all, Kafka's own included, if none is named.
        report_dir: where findings.parquet, partitions.parquet, audit.json and audit.html go.

    Raises PipelineError: it is no data directory, or cannot be read.
    """
    report = None if report_dir is None else local_path(report_dir).resolve()
    if report is not None:
        check_is_apart(report)
    with ExitStack() as stack:
        plan = plan_audit(data_dir, topics)
        session = stack.enter_context(spark_session(spark, master))
        began = time.perf_counter()
        results = run_parts(session, ReplicasTask.run, plan.tasks)
        bar = tqdm(
            results, total=len(plan.tasks), unit=" partitions", desc="audit", disable=not progress
        )
        result = judge(plan, [each for replicas in bar for each in replicas])
        result.seconds = time.perf_counter() - began
    if report is not None:
        write_report(result, report)
    return result


@dataclass(frozen=True, slots=True)
class Directory:
    """A data directory, and what the files of the directory itself say.

    Attributes:
        name: the path, to be told apart by; "" if it is the only one.
        is_held: a broker is running on it.
        checkpoints: offsets that logs have reached, by the checkpoint's name.
    """

    path: Path
    name: str
    is_held: bool
    checkpoints: dict[str, dict[TopicPartition, int]]

    def task(self, topic: str, partition: int) -> AuditTask:
        """The audit of one of its logs."""
        return AuditTask(
            self.name,
            topic,
            partition,
            (self.path / f"{topic}-{partition}").resolve(),
            self.is_held,
            (self.path / CLEAN_SHUTDOWN).exists() and not self.is_held,
            self.checkpoints[CLEANER_CHECKPOINT].get((topic, partition), 0),
            self.checkpoints[HIGH_WATERMARK_CHECKPOINT].get((topic, partition), 0),
        )


@dataclass(slots=True)
class Plan:
    """The partitions to audit."""

    directories: list[Directory]
    tasks: list[ReplicasTask]
    findings: Findings


def plan_audit(data_dir: DataDirs, topics: Sequence[str] = ()) -> Plan:
    """A task for each partition. Raises PipelineError."""
    found = Findings()
    try:
        paths = as_paths(data_dir)
        places = find_replicas(paths)
        directories = {path: _directory(path, len(paths) > 1, found) for path in paths}
    except (SparkSourceError, OSError) as error:
        raise PipelineError(str(error)) from error
    for topic in topics:
        if topic not in {topic for topic, _ in places}:
            raise PipelineError(f"{', '.join(map(str, paths))} has no topic {topic!r}")
    tasks = [
        ReplicasTask(tuple(directories[path].task(topic, partition) for path in holding))
        for (topic, partition), holding in places.items()
        if not topics or topic in topics
    ]
    return Plan(list(directories.values()), tasks, found)


def judge(plan: Plan, done: list[PartitionAudit]) -> Audit:
    """All partitions together."""
    findings = plan.findings
    for directory in plan.directories:
        if not directory.is_held:
            _check_ends(directory, done, findings)
    _check_topics(done, findings)
    counts = dict(findings.counts)
    for each in done:
        for kind, count in each.counts.items():
            counts[kind] = counts.get(kind, 0) + count
    every = [*findings.found, *(finding for each in done for finding in each.findings)]
    every.sort(
        key=lambda each: (
            *(each.severity, each.topic, each.partition, each.data_dir),
            *(each.file, each.position),
        )
    )
    return Audit(plan.directories, done, every, counts)


def _directory(path: Path, is_one_of_several: bool, found: Findings) -> Directory:
    name = str(path) if is_one_of_several else ""
    of_it = Findings(data_dir=name)
    checkpoints = {each: _checkpoint(path, each, of_it) for each in _REACHED}
    found.take(of_it)
    return Directory(path, name, is_held(path), checkpoints)


def _checkpoint(root: Path, name: str, findings: Findings) -> dict[TopicPartition, int]:
    try:
        return read_offsets(Files(), root / name)
    except CorruptCheckpoint as error:
        findings.add("checkpoint", str(error).removeprefix(f"{root / name}: "), file=name)
        return {}


def _check_ends(directory: Directory, done: list[PartitionAudit], found: Findings) -> None:
    findings = Findings(data_dir=directory.name)
    for each in done:
        if each.data_dir != directory.name:
            continue
        for name, offsets in directory.checkpoints.items():
            reached = offsets.get((each.topic, each.partition), 0)
            if reached > each.end_offset:
                findings.add(
                    "log-shortened",
                    f"{each.topic}-{each.partition} ends at {each.end_offset}, and had {reached}",
                    file=name,
                    offset=each.end_offset,
                )
    found.take(findings)


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
