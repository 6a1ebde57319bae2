"""Errors of the user or of a file: one sentence, and nothing half-written."""

from __future__ import annotations


class PipelineError(ValueError):
    """The pipeline cannot go on; the message is the sentence to show."""


class CouldNotBegin(PipelineError):
    """Something that a proof needs is not there, so that it proves nothing either way."""
