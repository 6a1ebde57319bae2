"""Names and labels of pushed metrics as Prometheus has them.

`org.apache.kafka.producer.connection.creation.total` becomes
`client_producer_connection_creation_total`: a prefix that no metric of the broker has, the words
that all of Kafka's have left out, and underscores for all that no name may hold. Counters end with
`_total`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

_PREFIX: Final = "client_"
_KAFKAS: Final = "org.apache.kafka."
_TOTAL: Final = "_total"
_NOT_IN_NAMES: Final = re.compile(r"[^a-zA-Z0-9_]")
# Memory that a value takes beside its name and labels.
_BYTES: Final = 400

Labels = tuple[tuple[str, str], ...]


class Series(NamedTuple):
    """One value of one client, by its metric and labels."""

    name: str
    labels: Labels
    is_counter: bool

    @property
    def size_bytes(self) -> int:
        """The memory that it takes, nearly."""
        return _BYTES + len(self.name) + sum(len(name) + len(text) for name, text in self.labels)


def series_of(
    name: str, attributes: Mapping[str, str], client: Mapping[str, str], *, is_counter: bool
) -> Series:
    """The series of a client's metric. Labels of the client win over attributes of that name."""
    shown = _PREFIX + _NOT_IN_NAMES.sub("_", name.removeprefix(_KAFKAS))
    if is_counter:
        shown = shown.removesuffix(_TOTAL) + _TOTAL
    labels = {_label(key): text for key, text in attributes.items()}
    labels.update(client)
    return Series(shown, tuple(sorted(labels.items())), is_counter)


def _label(name: str) -> str:
    """A label's name: two underscores at its beginning are Prometheus' own."""
    plain = _NOT_IN_NAMES.sub("_", name).lstrip("_")
    return plain if plain and not plain[0].isdigit() else f"_{plain}"
