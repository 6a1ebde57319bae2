"""Errors of the user or of a file: one sentence, and nothing half-written."""

from __future__ import annotations


class PipelineError(ValueError):
    """The pipeline cannot go on; the message is the sentence to show."""


class CouldNotBegin(PipelineError):
    """Something that a proof needs is not there, so that it proves nothing either way."""


def told(error: OSError) -> str:
    """The error in a few words, with the file where there is one."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}"
