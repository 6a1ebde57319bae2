"""`match` of a client metrics subscription: the clients that it is for.

Each entry is `selector=regular expression`; the expression must match the whole of the client's
value. Without entries every client matches. Source: Kafka's ClientMetricsConfigs (KIP-714).
Expressions are RE2's, which take linear time: what only Java knows (lookahead, references back) is
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import re2

from kafkalite.config.definition import ConfigError

_SELECTORS: Final = frozenset(
    {
        "client_id",
        "client_instance_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    }
)


class ClientMatch:
    """Parsed entries; of several for one selector the last counts."""

    def __init__(self, entries: Iterable[str]) -> None:
        """Raises ConfigError with Kafka's words."""
        self._patterns: dict[str, Any] = {}
        for entry in entries:
            # Java's split leaves out what is empty at the end.
            parts = entry.rstrip("=").split("=")
            if len(parts) != 2 or parts[0].strip() not in _SELECTORS:
                raise _illegal(entry)
            options = re2.Options()
            options.log_errors = False
            try:
                pattern = re2.compile(parts[1].strip(), options)
            except re2.error:
                raise _illegal(entry) from None
            self._patterns[parts[0].strip()] = pattern

    def matches(self, attributes: Mapping[str, str]) -> bool:
        """True for a client with these values by selector."""
        return all(
            pattern.fullmatch(attributes[selector]) is not None
            for selector, pattern in self._patterns.items()
        )


def _illegal(entry: str) -> ConfigError:
    return ConfigError(f"Illegal client matching pattern: {entry}")
