"""The control port as a socket: bound before the data is opened, served while clusters are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import trio

from kafkalite.control.guard import LOOPBACK, new_token
from kafkalite.log.loggers import logger_of
from kafkalite.server.listener import StartError, begin, bind, joined, local_address

if TYPE_CHECKING:
    from kafkalite.config import BrokerConfig
    from kafkalite.control.clusters import Clusters

logger = logger_of(__name__)

_PURPOSE: Final = "the control port (kafkalite.control.port)"


class ControlPort:
    """A port that takes verbs, and has the page where `kafkalite.ui` is set."""

    def __init__(self, config: BrokerConfig) -> None:
        """Bind it. Raises StartError."""
        self._has_page = config.boolean("kafkalite.ui")
        self._hosts = frozenset(config.items("kafkalite.control.hosts"))
        host = config.string("kafkalite.control.host") or "127.0.0.1"
        token = config.string("kafkalite.control.token") or ""
        if host not in LOOPBACK and not token:
            raise StartError(
                f"the control port is not opened on {host} without kafkalite.control.token: "
                "it can do everything"
            )
        self._token = token or new_token()
        # The page alone was asked for: any free port will do.
        given = config["kafkalite.control.port"] is not None
        port = config.integer("kafkalite.control.port") if given else 0
        self._socket = bind(host, port, _PURPOSE, listens=not port)

    def close(self) -> None:
        """Let the port go."""
        self._socket.close()

    async def serve(
        self,
        clusters: Clusters,
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serve verbs until the default cluster has ended. Raises StartError.

        A port that was given listens from now on, when the cluster answers.
        """
        begin(self._socket, _PURPOSE)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._serve_when_asked, clusters)
            logger.info("control port at %s: it can do everything", self.address["url"])
            task_status.started()
            await clusters.default.ended.wait()
            nursery.cancel_scope.cancel()

    async def _serve_when_asked(self, clusters: Clusters) -> None:
        """Import verbs and HTTP when the first client is there: it waits in the kernel."""
        await trio.lowlevel.wait_readable(self._socket)
        http = await trio.to_thread.run_sync(import_module, "kafkalite.control.http")
        server = http.ControlServer(clusters, self._token, self._hosts, has_page=self._has_page)
        await server.serve(self._socket.dup())

    @property
    def address(self) -> dict[str, str]:
        """The `url` of the port, and its `token`."""
        return {"url": f"http://{joined(*local_address(self._socket))}", "token": self._token}

    @property
    def page_url(self) -> str | None:
        """The URL of the page, with the token where no server sees it; None without a page."""
        if not self._has_page:
            return None
        return f"{self.address['url']}/#token={quote(self._token, safe='')}"
