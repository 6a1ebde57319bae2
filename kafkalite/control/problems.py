"""A refusal of the control plane: one code, one sentence, the value that was wrong, a way out.

Over HTTP it is problem+json (RFC 9457); on the command line it is the sentence and the hint.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

_STATUS: Final = {
    "not_found": HTTPStatus.NOT_FOUND,
    "exists": HTTPStatus.CONFLICT,
    "conflict": HTTPStatus.CONFLICT,
    "too_many": HTTPStatus.TOO_MANY_REQUESTS,
    "too_large": HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "unauthorized": HTTPStatus.UNAUTHORIZED,
    "forbidden": HTTPStatus.FORBIDDEN,
    "misdirected": HTTPStatus.MISDIRECTED_REQUEST,
    "method_not_allowed": HTTPStatus.METHOD_NOT_ALLOWED,
    "unsupported_media_type": HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
}


class Problem(Exception):
    """Says what was asked for cannot be done, and why."""

    def __init__(
        self, code: str, detail: str, *, value: object = None, hint: str | None = None
    ) -> None:
        super().__init__(detail if hint is None else f"{detail} ({hint})")
        self.code = code
        self.detail = detail
        self.value = value
        self.hint = hint

    @property
    def status(self) -> HTTPStatus:
        """The HTTP status that goes with the code; 400 for a mistake in what was sent."""
        return _STATUS.get(self.code, HTTPStatus.BAD_REQUEST)

    @property
    def is_mistake(self) -> bool:
        """Tells whether it is wrong wherever it is asked; else it is refused as things are."""
        return self.code.startswith(("invalid_", "unknown_"))

    def as_json(self) -> dict[str, object]:
        """The members of problem+json, without those that say nothing."""
        told: dict[str, object] = {
            "type": "about:blank",
            "title": self.status.phrase,
            "status": int(self.status),
            "code": self.code,
            "detail": self.detail,
        }
        if self.value is not None:
            told["value"] = self.value
        if self.hint is not None:
            told["hint"] = self.hint
        return told


def not_found(kind: str, name: object, *, hint: str | None = None) -> Problem:
    """There is no such thing."""
    return Problem("not_found", f"there is no {kind} {name!r}", value=name, hint=hint)
