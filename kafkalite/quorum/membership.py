"""A broker's membership of a cluster: everything that it says to the controllers and hears of them.

membership = Membership(node_id, cluster_id, ...)
await nursery.start(membership.run)       # the metadata are as of now
await membership.register()               # the broker is known, and up to date with that
membership.lifecycle.ready()              # it can serve
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

import trio

from kafkalite.peers.link import Address, Connect
from kafkalite.quorum.assignments import Assignments
from kafkalite.quorum.channel import ControllerChannel
from kafkalite.quorum.forwarding import Forwarding
from kafkalite.quorum.lifecycle import Lifecycle
from kafkalite.quorum.observer import Observer
from kafkalite.quorum.producer_ids import ProducerIds
from kafkalite.quorum.registration import Registration
from kafkalite.quorum.tail import MetadataTail, Publish
from kafkalite.quorum.topic_requests import TopicRequests
from kafkalite.supervision import supervised

_FOREVER_SECONDS: Final = float("inf")


@dataclass(frozen=True, slots=True)
class MembershipConfig:
    """The controllers' addresses, and how long they are waited for."""

    controllers: Sequence[Address]
    heartbeat_seconds: float = 2.0
    registration_seconds: float = 60.0


class Membership:
    """Made before anything is opened; `publish` gets the metadata as they are committed."""

    def __init__(
        self,
        registration: Registration,
        config: MembershipConfig,
        *,
        cluster_id: str,
        directory_id: UUID,
        publish: Publish,
        metadata_offset: Callable[[], int],
        offline_directories: Callable[[], Sequence[UUID]],
        cordoned_directories: Callable[[], Sequence[UUID]],
        connect: Connect,
    ) -> None:
        self.refusal: str | None = None
        self._config = config
        self.observer = Observer(registration.node_id, cluster_id, directory_id)
        self.tail = MetadataTail(self.observer, config.controllers, publish, connect)

        self._channels: list[ControllerChannel] = []

        def channel(name: str) -> ControllerChannel:
            self._channels.append(ControllerChannel(name, self.observer, connect))
            return self._channels[-1]

        self.lifecycle = Lifecycle(
            registration,
            channel("heartbeat"),
            metadata_offset=metadata_offset,
            offline_directories=offline_directories,
            cordoned_directories=cordoned_directories,
            heartbeat_seconds=config.heartbeat_seconds,
            registration_seconds=config.registration_seconds,
        )
        forwarding = channel("forwarding")
        self.forwarding = Forwarding(forwarding)
        self.topic_requests = TopicRequests(channel("topics"))
        self.producer_ids = ProducerIds(
            registration.node_id, self.broker_epoch, channel("producer-ids")
        )
        self.assignments = Assignments(
            registration.node_id, self.broker_epoch, channel("directory-assignments")
        )
        self._alter_partition = channel("alter-partition")

    def broker_epoch(self) -> int:
        """The epoch of the last registration; -1 before the first."""
        return self.lifecycle.broker_epoch

    async def alter_partition(self, body: object) -> Any:
        """The answer to a proposal, however long it takes."""
        return await self._alter_partition.ask(body, timeout_seconds=_FOREVER_SECONDS)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Keep up with the metadata; has started when that is done for the first time.

        If it cannot be done, `refusal` says why when it has started, and nothing runs.
        """
        try:
            await self._run(task_status)
        finally:
            for channel in self._channels:
                await channel.close()

    async def _run(self, task_status: trio.TaskStatus[None]) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(supervised, "following the metadata", self.tail.run)
            await self._catch_up()
            for name, task in (
                ("producer ids", self.producer_ids),
                ("assignments of directories", self.assignments),
                ("requests for topics", self.topic_requests),
            ):
                nursery.start_soon(supervised, name, task.run)
            task_status.started()
            if self.refusal is not None:
                nursery.cancel_scope.cancel()

    async def _catch_up(self) -> None:
        with trio.move_on_after(self._config.registration_seconds):
            async with trio.open_nursery() as nursery:

                async def give_up(event: trio.Event) -> None:
                    await event.wait()
                    nursery.cancel_scope.cancel()

                nursery.start_soon(give_up, self.tail.has_failed)
                nursery.start_soon(give_up, self.lifecycle.may_go)
                await self.tail.caught_up.wait()
                nursery.cancel_scope.cancel()
        if not self.tail.caught_up.is_set():
            found = ", ".join(map(str, self._config.controllers))
            self.refusal = self.tail.failure or f"no controller answers at {found}"
