"""A process with a control port for the tests of a module."""

from __future__ import annotations

from tests.kafkalite.control_port import ready

__all__ = ["ready"]
