"""Shared by the programs in Python: arguments, and a line per step that went well.

It runs in the client's own environment, so it imports nothing else of this project.
"""

from __future__ import annotations

import sys
import traceback

BOOTSTRAP, PREFIX, *STEPS = sys.argv[1:]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def same(found, expected):
    if found != expected:
        raise AssertionError(f"{found} instead of {expected}")


def run(codecs, **steps):
    """Do what was asked for, in order; exit with 1 if a step failed."""
    failed = False
    for step in STEPS:
        call, *arguments = codecs[step] if step in codecs else (steps[step],)
        try:
            call(*arguments)
        except Exception:  # noqa: BLE001 - whatever it was, the step failed
            failed = True
            print(f"failed: {step}", flush=True)
            traceback.print_exc()
        else:
            print(f"passed: {step}", flush=True)
    sys.exit(failed)
