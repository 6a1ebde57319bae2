"""Snapshots of a cluster's data by hard links: no bytes are copied but those still being
written.

A segment that is closed is never written again, so a link to it is a copy. Of active
segments, and of all small files, the bytes are copied; an active segment with many bytes is
closed first. The metadata log and the checkpoints are as they are at the moment, taken in one
turn of the loop, and the mark of a clean shutdown makes opening the copy quick.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from kafkalite.broker import Broker
from kafkalite.control.answers import SnapshotView
from kafkalite.log.files import (
    CLEAN_SHUTDOWN,
    FILES,
    LOCK,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    parse_segment_file,
)
from kafkalite.log.log import Log
from kafkalite.log.meta_properties import read_meta_properties, write_meta_properties

_MOST_COPIED_BYTES: Final = 1 << 20
# Beside the logs of a snapshot: the cluster's time in ms. Apache Kafka does not look at it.
_TIME: Final = "kafkalite-snapshot-time"


class Plan(NamedTuple):
    """The files of a snapshot: what is linked, what is copied and how many bytes of it.

    `clock_ms` is the cluster's time.
    """

    clock_ms: int
    links: list[tuple[Path, Path]]
    copies: list[tuple[Path, Path, int]]


def prepare(broker: Broker) -> Plan:
    """Bring the data directory to a state as after a close, and say what is to be taken.

    Raises KafkaError and OSError.
    """
    manager = broker.services.logs.manager
    for log in manager.logs:
        _close_many_bytes(log)
        log.settle()
    manager.checkpoint()
    plan = Plan(broker.services.now_ms(), [], [])
    for directory in manager.directories:
        active = {log.directory: log for log in directory.logs.values()}
        for path in sorted(directory.path.iterdir()):
            if path.is_dir():
                if path in active:
                    _plan_log(path, Path(path.name), active[path], plan)
            elif path.name not in (LOCK, CLEAN_SHUTDOWN, _TIME):
                plan.copies.append((path, Path(path.name), path.stat().st_size))
    return plan


def _close_many_bytes(log: Log) -> None:
    """Begin a new segment where the active one has many bytes. Raises KafkaError."""
    if log.offline_reason is None and log.segments.active.size > _MOST_COPIED_BYTES:
        try:
            log.roll()
        except OSError as error:
            raise log.storage_error(error) from error


def _plan_log(path: Path, into: Path, log: Log, plan: Plan) -> None:
    active_base = log.segments.active.base_offset
    for file in sorted(path.iterdir()):
        parsed = parse_segment_file(file.name)
        if parsed is not None and parsed[2]:
            continue  # on its way in or out
        is_closed = parsed is not None and parsed[0] < active_base and parsed[1] in SEGMENT_SUFFIXES
        if is_closed:
            plan.links.append((file, into / file.name))
        else:
            plan.copies.append((file, into / file.name, file.stat().st_size))


def carry_out(plan: Plan, target: Path) -> SnapshotView:
    """Make the snapshot; in a thread. Raises OSError."""
    temporary = target.with_name(target.name + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    for source, name in plan.links:
        (temporary / name).parent.mkdir(parents=True, exist_ok=True)
        os.link(source, temporary / name)
    for source, name, size in plan.copies:
        (temporary / name).parent.mkdir(parents=True, exist_ok=True)
        _copy(source, temporary / name, size)
    (temporary / CLEAN_SHUTDOWN).write_text('{"version":0,"brokerEpoch":-1}')
    (temporary / _TIME).write_text(f"{plan.clock_ms}\n")
    return put(temporary, target)


def put(made: Path, target: Path) -> SnapshotView:
    """Have a directory be the snapshot of this path, in another's place if there is one."""
    if target.exists():
        shutil.rmtree(target)
    made.rename(target)
    return view(target)


def _copy(source: Path, target: Path, size: int) -> None:
    with source.open("rb") as read, target.open("wb") as written:
        while size:
            count = os.copy_file_range(read.fileno(), written.fileno(), size)
            if not count:
                break
            size -= count


def unfold(snapshot: Path, directory: Path, cluster_id: str) -> None:
    """Make a data directory of this cluster of a snapshot, whose closed segments are links again.

    Raises InconsistentDataDirectory, OSError.
    """
    for path in sorted(snapshot.rglob("*")):
        name = path.relative_to(snapshot)
        if path == snapshot / _TIME:
            continue
        if path.is_dir():
            (directory / name).mkdir(parents=True, exist_ok=True)
            continue
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        if is_closed_segment(path):
            os.link(path, directory / name)
        else:
            shutil.copyfile(path, directory / name)
    known = read_meta_properties(directory, FILES)
    if known is not None:
        write_meta_properties(directory, known._replace(cluster_id=cluster_id), FILES)


def is_closed_segment(path: Path) -> bool:
    """Tells whether a file of a snapshot is of a segment that another one follows."""
    parsed = parse_segment_file(path.name)
    if parsed is None or parsed[1] not in SEGMENT_SUFFIXES:
        return False
    logs = (parse_segment_file(each.name) for each in path.parent.glob(f"*{LOG_SUFFIX}"))
    return any(each is not None and each[0] > parsed[0] for each in logs)


def view(snapshot: Path) -> SnapshotView:
    """Says what a snapshot on the disk is made of."""
    time = snapshot / _TIME
    files = [each for each in snapshot.rglob("*") if each.is_file() and each != time]
    sizes = [each.stat() for each in files]
    return SnapshotView(
        snapshot.name,
        len(files),
        sum(each.st_nlink > 1 for each in sizes),
        sum(each.st_size for each in sizes),
        clock_ms(snapshot),
    )


def clock_ms(snapshot: Path) -> int | None:
    """The time of the cluster when a snapshot was taken; None if it does not tell."""
    try:
        return int((snapshot / _TIME).read_text())
    except (FileNotFoundError, ValueError):
        return None
