"""The snapshots of a process, which belong to all its clusters: taken, kept, packed, unpacked."""

from __future__ import annotations

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio

from kafkalite.broker import Broker
from kafkalite.control import snapshots
from kafkalite.control.answers import SnapshotView
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.forgetting import removed
from kafkalite.control.problems import Problem, not_found
from kafkalite.control.snapshot_plan import planning
from kafkalite.log.errors import InconsistentDataDirectory
from kafkalite.log.meta_properties import random_id
from kafkalite.requests.slices import in_slices_of_task
from kafkalite.server.listener import StartError
from kafkalite.wire.errors import KafkaError

# It is made in memory, and unpacked on the disk.
MOST_EXPORTED_BYTES: Final = 512 << 20
# A snapshot is begun anew where files go while it is taken.
_TRIES: Final = 5


class KeptSnapshots(ABC):
    """`root` has the snapshots, beside the clusters."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @abstractmethod
    def try_snapshot(self, snapshot: Path) -> None:
        """Raises StartError and OSError for a data directory that no broker here can open."""

    @property
    def _snapshots(self) -> Path:
        return self._root / "snapshots"

    @property
    def _taken(self) -> Path:
        """The directory for snapshots that are being taken."""
        return self._root / "taken"

    def _snapshot(self, name: str) -> Path:
        path = self._snapshots / name
        if not path.is_dir():
            raise not_found("snapshot", name, hint="`snapshots` lists those there are")
        return path

    async def save(self, cluster: ControlledCluster, name: str) -> SnapshotView:
        """Keep a cluster's data under a name; another of that name is replaced. Raises
        Problem.
        """
        made, target = self._taken / random_id(), self._snapshots / name
        try:
            for _ in range(_TRIES):
                if await self._is_taken(cluster.broker, made):
                    return await trio.to_thread.run_sync(snapshots.put, made, target)
        except (KafkaError, OSError) as error:
            raise Problem("refused", f"no snapshot was taken: {error}") from None
        finally:
            await removed(made)
        why = "files are deleted, compacted or moved all the time"
        raise Problem("refused", f"no snapshot was taken: {why}")

    async def _is_taken(self, broker: Broker, made: Path) -> bool:
        """Make a snapshot; False if it is not of one moment, as files were deleted meanwhile.

        Raises KafkaError and OSError.
        """
        plan = await in_slices_of_task(planning(broker))
        try:
            await trio.to_thread.run_sync(snapshots.carry_out, plan, made)
        except snapshots.FilesGoneError:
            return False
        return all(cut.has_its_files for cut in plan.cuts.values())

    async def export(self, cluster: ControlledCluster) -> bytes:
        """A cluster's data as a tar file. Raises Problem."""
        name = f"export-{random_id()}"
        await self.save(cluster, name)
        try:
            return await self.archived(name)
        finally:
            await self.delete_snapshot(name)

    async def archived(self, name: str) -> bytes:
        """A snapshot as a tar file. Raises Problem."""
        from kafkalite.control import archives

        path = self._snapshot(name)
        size = (await trio.to_thread.run_sync(snapshots.view, path)).size_bytes
        if size > MOST_EXPORTED_BYTES:
            most = MOST_EXPORTED_BYTES >> 20
            raise Problem("too_large", f"an export may have {most} MiB", value=size)
        return await trio.to_thread.run_sync(archives.packed, path)

    @property
    def uploads(self) -> Path:
        """The directory for what is on its way in; on the same disk as the snapshots."""
        return self._root / "uploads"

    async def import_snapshot(self, name: str, archive: Path) -> SnapshotView:
        """Make a snapshot of a tar file. Raises Problem."""
        from kafkalite.control import archives

        fresh = self.uploads / random_id()

        def unpacked() -> SnapshotView:
            archives.unpack(archive, fresh, MOST_EXPORTED_BYTES)
            self.try_snapshot(fresh)
            return snapshots.put(fresh, self._snapshots / name)

        try:
            return await trio.to_thread.run_sync(unpacked)
        except archives.NoArchiveError as error:
            raise Problem("invalid_archive", f"this is no snapshot: {error}") from None
        except (StartError, InconsistentDataDirectory, OSError) as error:
            raise Problem("refused", f"no snapshot was made: {error}") from None
        finally:
            await removed(fresh)

    async def restore(
        self, cluster: ControlledCluster, name: str, *, sets_clock: bool = False
    ) -> None:
        """Have a cluster go on from a snapshot, of another one perhaps. Raises Problem.

        `sets_clock`: it is the time of the snapshot then.
        """
        now_ms = snapshots.clock_ms(self._snapshot(name)) if sets_clock else None
        if sets_clock and now_ms is None:
            raise Problem("conflict", f"snapshot {name!r} does not tell its time", value=name)
        await cluster.replace_data(self.filling(cluster, name), now_ms)

    def filling(self, cluster: ControlledCluster, name: str) -> Callable[[Path], None]:
        """Makes a data directory of a cluster of a snapshot. Raises Problem."""
        source = self._snapshot(name)
        cluster_id = cluster.broker.services.cluster.cluster_id
        return lambda directory: snapshots.unfold(source, directory, cluster_id)

    async def snapshots(self) -> list[SnapshotView]:
        """All snapshots."""
        return await trio.to_thread.run_sync(self._seen_snapshots)

    def _seen_snapshots(self) -> list[SnapshotView]:
        found: list[SnapshotView] = []
        for each in sorted(self._snapshots.iterdir()) if self._snapshots.is_dir() else ():
            with suppress(FileNotFoundError):  # forgotten, or replaced, meanwhile
                found.append(snapshots.view(each))
        return found

    async def delete_snapshot(self, name: str) -> None:
        """Forget a snapshot. Raises Problem."""
        path = self._snapshot(name)
        await trio.to_thread.run_sync(shutil.rmtree, path)
