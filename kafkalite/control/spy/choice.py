"""A choice among requests: by API and client, which the header tells, and by topic and error."""

from __future__ import annotations

from typing import Protocol

from kafkalite.control.faults.criteria import Predicate, predicate
from kafkalite.control.faults.matching import API_NAMES, api_keys
from kafkalite.control.sightings import RequestView
from kafkalite.control.spy.decoded import header_of
from kafkalite.control.spy.ring import Entry


class Criteria(Protocol):
    """The fields that choose; each may be a glob, or None for any."""

    @property
    def api(self) -> str | None: ...
    @property
    def client_id(self) -> str | None: ...
    @property
    def topic(self) -> str | None: ...
    @property
    def error(self) -> str | None: ...


class Choice:
    """Tells whether a request is one of those that are asked for."""

    def __init__(self, criteria: Criteria) -> None:
        """Raises Problem for an API that there is not, and for what cannot be compared."""
        keys = api_keys(criteria.api)
        self._names = None if keys is None else {API_NAMES[key] for key in keys}
        self._client = _predicate(criteria.client_id, "client_id")
        self._topic = _predicate(criteria.topic, "topic")
        self._error = _predicate(criteria.error, "error")

    def allows(self, entry: Entry) -> bool:
        """False if the header alone, without decoding, tells that it is another."""
        if self._names is None and self._client is None:
            return True
        header = header_of(entry)
        return self._is_of(header.api, header.client_id)

    def _is_of(self, api: str, client_id: str) -> bool:
        return (self._names is None or api in self._names) and (
            self._client is None or self._client(client_id)
        )

    def has(self, view: RequestView) -> bool:
        """Tells whether a request is wanted that was decoded before."""
        return self._is_of(view.api, view.client_id) and self.takes(view)

    def takes(self, view: RequestView) -> bool:
        """Tells whether one that the header allows is wanted."""
        if self._topic is not None and not any(self._topic(each) for each in view.topics):
            return False
        return self._error is None or any(map(self._error, view.errors))


def _predicate(value: str | None, field: str) -> Predicate | None:
    return None if value is None else predicate(value, field=field)
