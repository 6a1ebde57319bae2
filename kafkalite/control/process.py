"""A process with a control port: clusters, and HTTP for their verbs, in the place of one
Broker.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import trio

from kafkalite.control.cluster import DEFAULT, ControlledCluster
from kafkalite.control.clusters import Clusters
from kafkalite.control.port import ControlPort
from kafkalite.server.listener import start_error_of

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.metrics.endpoint import MetricsEndpoint
    from kafkalite.server.listener import Listener
    from kafkalite.server.loop import Loop
    from kafkalite.services import Services

# Beside the logs of a data directory that is kept: what belongs to clusters made later, snapshots.
OWN_DIRECTORY: Final = ".kafkalite"


class ControlledProcess:
    """Has what the command needs of a Broker.

    `temporary`: the data directory is gone in the end, so that a reset may take another one.
    """

    def __init__(self, config: BrokerConfig, *, temporary: bool, loop: Loop | None = None) -> None:
        self.config = config
        directory = config.data_directory.absolute()
        self._cluster = ControlledCluster(
            DEFAULT, config, directory, keeps_directory=not temporary, loop=loop
        )
        self._clusters = Clusters(
            self._cluster, directory if temporary else directory / OWN_DIRECTORY, config
        )
        self.stopped = self._cluster.ended
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Bind all ports, and open the data. Raises StartError."""
        with ExitStack() as stack:
            self._port = ControlPort(self.config)
            stack.callback(self._port.close)
            self._cluster.open()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()
        if not self.stopped.is_set():
            self._cluster.close()

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve clients and verbs until `stop`. Raises StartError."""
        try:
            async with trio.open_nursery() as nursery:
                await nursery.start(self._clusters.run)
                await nursery.start(self._port.serve, self._clusters)
                task_status.started()
        except BaseExceptionGroup as group:
            raise start_error_of(group) from None

    def stop(self) -> None:
        """Let `serve` end."""
        self._clusters.stop()

    @property
    def control(self) -> dict[str, str]:
        """The URL of the control port, and its token."""
        return self._port.address

    @property
    def page_url(self) -> str | None:
        """The URL of the page; None without a page."""
        return self._port.page_url

    @property
    def bootstrap(self) -> str:
        """The addresses of the default cluster."""
        return self._cluster.broker.bootstrap

    @property
    def listeners(self) -> list[Listener]:
        """The listeners of the default cluster."""
        return self._cluster.broker.listeners

    @property
    def services(self) -> Services:
        """The services of the default cluster."""
        return self._cluster.broker.services

    @property
    def metrics(self) -> MetricsEndpoint | None:
        """The metrics of the default cluster."""
        return self._cluster.broker.metrics

    @property
    def data_directory(self) -> Path:
        """The data directory of the default cluster."""
        return self._cluster.data_dir
