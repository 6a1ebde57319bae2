"""A broker that was abandoned gives back what it had, little by little.

It does not serve. To close the files of its thousands of topics at once, and to free them,
would hold up the broker that took its place.
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import trio

from kafkalite.requests.slices import Steps

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from kafkalite.broker import Broker

TRASH: Final = ".trash-"
_FREED_AT_ONCE: Final = 32
# Belongs to other clusters: it stays in a data directory that is emptied.
_OTHERS: Final = ".kafkalite"


def forgetting(broker: Broker) -> Steps[None]:
    """The steps. After the first one, its ports and its directories are free for another."""
    if broker.metrics is not None:
        broker.metrics.close()
    steps = broker.services.logs.abandoning()
    next(steps)
    broker.controller.end()
    yield
    yield from steps


def freeing(broker: Broker) -> Steps[None]:
    """Free what a broker that has ended was made of. It is in cycles, and the collector is kept
    from most of it: it would stay until the process ends."""
    services = broker.services
    for topic in services.topics.all():
        for some in (topic.partitions, topic.states):
            while some:
                del some[-_FREED_AT_ONCE:]
                yield
        yield
    image = services.cluster.image
    parts: tuple[MutableMapping[Any, Any], ...] = (
        *(directory.logs for directory in services.logs.manager.directories),
        image.topics,
        image.topics_by_id,
        image.topics_by_unified_name,
        image.configs,
    )
    for part in parts:
        while part:
            for _ in range(min(len(part), _FREED_AT_ONCE)):
                part.popitem()
            yield


def emptied(directory: Path, trash: str) -> Path:
    """Empty a data directory, and say where its contents are: in `trash`, a name within it.

    Another directory takes its place, as to rename thousands of logs takes 100 ms. Where that
    cannot be, each goes by itself: of a mount point, below a directory that is not ours, and
    beside other clusters' files, whose path must not be gone for a moment.
    """
    directory = directory.resolve()
    if (directory / _OTHERS).exists() or not _is_replaced(directory, trash):
        _move(directory, directory / trash)
    return directory / trash


def _is_replaced(directory: Path, trash: str) -> bool:
    """Put an empty directory in a directory's place, and that into it as `trash`, if that can
    be.
    """
    fresh = directory.with_name(f".{directory.name}{trash}")
    aside = fresh.with_name(f"{fresh.name}-old")
    was = directory.stat()
    try:
        fresh.mkdir()
        fresh.chmod(stat.S_IMODE(was.st_mode))
        if fresh.stat().st_uid != was.st_uid or fresh.stat().st_gid != was.st_gid:
            raise PermissionError
        directory.rename(aside)
    except OSError:
        shutil.rmtree(fresh, ignore_errors=True)
        return False
    fresh.rename(directory)
    for path in aside.glob(f"{TRASH}*"):
        path.rename(directory / path.name)
    aside.rename(directory / trash)
    return True


def _move(directory: Path, trash: Path) -> None:
    trash.mkdir()
    for path in list(directory.iterdir()):
        if not path.name.startswith((TRASH, _OTHERS)):
            path.rename(trash / path.name)


async def removed(directory: Path) -> None:
    """Remove a directory in a thread, which may take its time."""
    with trio.CancelScope(shield=True):
        await trio.to_thread.run_sync(lambda: shutil.rmtree(directory, ignore_errors=True))
