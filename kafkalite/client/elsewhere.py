"""A broker that runs already, for a run of tests: `pytest --kafkalite-url URL`.

A run (and each worker of xdist) has clusters of its own there, so that several runs can share one
process. Its default cluster is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Final

from kafkalite.client.connecting import AsyncClient, Client
from kafkalite.client.local import NewCluster
from kafkalite.client.values import text_of
from kafkalite.config.profiles import profile

# A run that crashed leaves nothing behind for good, and a long one may be at other clusters.
_IDLE_END: Final = "1d"
_TOKEN: Final = "#token="


class Elsewhere(NewCluster):
    """A cluster of the run's own in a broker elsewhere; it makes others beside it."""

    def __init__(self, url: str, token: str, config: Mapping[str, object]) -> None:
        self._where = (url, token)
        super().__init__(self._verb, self._async_verb, _fields(config, idle_end=_IDLE_END))

    def _verb(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        return Client(*self._where, cluster).ask(verb, **fields)

    async def _async_verb(self, verb: str, cluster: str, /, **fields: Any) -> Any:
        return await AsyncClient(*self._where, cluster).ask(verb, **fields)

    def new_cluster(
        self,
        name: str | None = None,
        *,
        nodes: int = 1,
        config: Mapping[str, object] | None = None,
        as_version: str | None = None,
        from_: str | None = None,
    ) -> NewCluster:
        """A cluster of its own in the same process, on ports of its own: a context manager."""
        fields = _fields(config or {}, name=name, nodes=nodes, as_version=as_version, from_=from_)
        return NewCluster(self._verb, self._async_verb, fields)


def address(url: str) -> tuple[str, str]:
    """The URL of a control port and its token, which may follow the URL as the page's does.

    Raises ValueError if nothing tells the token.
    """
    plain, _, token = url.partition(_TOKEN)
    token = token or os.environ.get("KAFKALITE_TOKEN", "")
    if not token:
        raise ValueError(
            f"its token is missing: set KAFKALITE_TOKEN, or add {_TOKEN}... to the URL"
        )
    return plain.rstrip("/"), token


def _fields(config: Mapping[str, object], **fields: Any) -> dict[str, Any]:
    given = {name: text_of(value) for name, value in config.items()}
    return {"configs": profile("test") | given, **fields}
