"""A broker as a process beside this one, for a command that is to find it in its environment.

It ends with this process, however that ends: its standard input is a pipe from here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_START_SECONDS: Final = 30.0
_FLAGS: Final = ("--port", "0", "--control-port", "0", "--profile", "test", "--until-eof")


class NotStarted(Exception):
    """The broker does not start."""


@contextmanager
def broker_process(flags: Sequence[str] = (), errors: int | None = None) -> Generator[Path]:
    """A broker with a control port; its ready file. Raises NotStarted.

    Args:
        flags: more flags of the command `kafkalite`.
        errors: where its standard error goes; None: to the same place as ours.
    """
    with tempfile.TemporaryDirectory(prefix="kafkalite-beside-") as directory:
        ready = Path(directory) / "ready.json"
        data = () if any(each.startswith("--data-dir") for each in flags) else ("--temporary",)
        command = [sys.executable, "-m", "kafkalite", *_FLAGS, *data, *flags]
        process = subprocess.Popen(
            [*command, "--ready-file", str(ready)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            # Words on other terminals mean the broker that the user has started, and not this one.
            env={k: v for k, v in os.environ.items() if k != "XDG_RUNTIME_DIR"},
            start_new_session=True,  # Ctrl-C is for the command: it may need the broker to end
        )
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise NotStarted("the broker does not start")
                time.sleep(0.02)
            yield ready
        finally:
            process.terminate()
            process.communicate()


def environment(bootstrap: str, url: str, token: str, cluster: str) -> Mapping[str, str]:
    """The variables of a command that is to find its cluster."""
    return {
        **os.environ,
        "KAFKALITE_BOOTSTRAP": bootstrap,
        "KAFKALITE_URL": url,
        "KAFKALITE_TOKEN": token,
        "KAFKALITE_CLUSTER": cluster,
    }


# Shells add this to the number of the signal that ended a process.
ENDED_BY_SIGNAL: Final = 128
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
