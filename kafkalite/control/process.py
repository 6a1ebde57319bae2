"""A process with a control port: clusters, and HTTP for their verbs, in the place of one
Broker.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import quote

import trio

from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.clusters import DEFAULT, Clusters
from kafkalite.control.guard import LOOPBACK, new_token
from kafkalite.server.listener import Listener, StartError, bind, joined

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.metrics.endpoint import MetricsEndpoint
    from kafkalite.server.loop import Loop
    from kafkalite.services import Services

logger = logging.getLogger(__name__)

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
            self._cluster, directory if temporary else directory / OWN_DIRECTORY
        )
        self.stopped = self._cluster.ended
        self._host = config.string("kafkalite.control.host") or "127.0.0.1"
        self._token = config.string("kafkalite.control.token") or ""
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Bind all ports, and open the data. Raises StartError."""
        if self._host not in LOOPBACK and not self._token:
            raise StartError(
                f"the control port is not opened on {self._host} without kafkalite.control.token: "
                "it can do everything"
            )
        self._token = self._token or new_token()
        # The page alone was asked for: any free port will do.
        given = self.config["kafkalite.control.port"] is not None
        port = self.config.integer("kafkalite.control.port") if given else 0
        with ExitStack() as stack:
            self._socket = bind(self._host, port)
            stack.callback(self._socket.close)
            self._cluster.open()
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.close()
        if not self.stopped.is_set():
            self._cluster.close()

    async def serve(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve clients and verbs until `stop`."""
        from kafkalite.control.http import ControlServer

        hosts = frozenset(self.config.items("kafkalite.control.hosts"))
        has_page = self.config.boolean("kafkalite.ui")
        server = ControlServer(self._clusters, self._token, hosts, has_page=has_page)
        async with trio.open_nursery() as nursery:
            await nursery.start(self._clusters.run)
            nursery.start_soon(server.serve, self._socket.dup())
            logger.info("control port at %s: it can do everything", self.control["url"])
            task_status.started()
            await self.stopped.wait()
            nursery.cancel_scope.cancel()

    def stop(self) -> None:
        """Let `serve` end."""
        self._clusters.stop()

    @property
    def control(self) -> dict[str, str]:
        """The URL of the control port, and its token."""
        host, port = self._socket.getsockname()[:2]
        host = "127.0.0.1" if host == "0.0.0.0" else "::1" if host == "::" else host
        return {"url": f"http://{joined(host, port)}", "token": self._token}

    @property
    def page_url(self) -> str | None:
        """The URL of the page, with the token where no server sees it; None without a page."""
        if not self.config.boolean("kafkalite.ui"):
            return None
        return f"{self.control['url']}/#token={quote(self._token, safe='')}"

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
