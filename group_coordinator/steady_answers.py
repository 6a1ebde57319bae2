"""Answers to heartbeats that change nothing, which are given again until something changes.

Nearly every heartbeat of a consumer, share or streams group is the same as the one before. Such a
group keeps the answer by member id; every record of the group forgets them all (modern_group.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkalite.group_coordinator.callers import Caller
from kafkalite.group_coordinator.timers import Timer
from kafkalite.wire.rows import SharedResponse


class SteadyAnswer:
    """One answer, and all that it depends on but the group's records.

    `request` is the heartbeat as a row, `configs` are those of the group itself. The member's
    `session` lasts `session_seconds` from each heartbeat.
    """

    __slots__ = (
        "_api_version",
        "_client_host",
        "_client_id",
        "_configs",
        "_request",
        "response",
        "session",
        "session_seconds",
    )

    def __init__(
        self,
        caller: Caller,
        request: tuple[Any, ...],
        configs: Mapping[str, str],
        session: Timer,
        session_seconds: float,
        response: SharedResponse,
    ) -> None:
        self._api_version = caller.api_version
        self._client_id = caller.client_id
        self._client_host = caller.client_host
        self._request = request
        self._configs = dict(configs)
        self.session = session
        self.session_seconds = session_seconds
        self.response = response

    def fits(self, caller: Caller, request: tuple[Any, ...], configs: Mapping[str, str]) -> bool:
        """True if this is the answer to `request`, too."""
        return (
            request == self._request
            and caller.api_version == self._api_version
            and caller.client_id == self._client_id
            and caller.client_host == self._client_host
            and configs == self._configs
        )
