"""Stores of type PKCS12, unlocked by the library `cryptography`.

To unlock one takes 50 ms as keytool makes them, and half a second for a million iterations. The
library keeps the interpreter meanwhile, also in a thread. So a broker that serves has it done by
another process (`unlock_apart`); one that starts does it itself, which is sooner done.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64decode, b64encode
from collections.abc import Callable
from typing import Final, NamedTuple

_CHILD: Final = "from kafkalite.security.pkcs12 import answer; answer()"
_CHILD_SECONDS: Final = 60.0


class Unlocked(NamedTuple):
    """A store as PEM: its key if it has one, and certificates, the key's first."""

    key: str | None
    certificates: list[str]


Unlock = Callable[[bytes, str | None], Unlocked]
"""Unlocks a store with a password. Raises ValueError."""


def unlock(data: bytes, password: str | None) -> Unlocked:
    """Unlock a store. Raises ValueError."""
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        pkcs12,
    )

    store = pkcs12.load_pkcs12(data, None if password is None else password.encode())
    chain = store.additional_certs if store.cert is None else (store.cert, *store.additional_certs)
    key = None
    if store.key is not None and store.cert is not None:
        key = store.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Unlocked(key, [each.certificate.public_bytes(Encoding.PEM).decode() for each in chain])


def unlock_apart(data: bytes, password: str | None) -> Unlocked:
    """The same, by another process, which is waited for. Raises ValueError."""
    if not sys.executable or getattr(sys, "frozen", False):
        return unlock(data, password)  # there is no Python to run
    question = json.dumps({"data": b64encode(data).decode(), "password": password})
    path = os.pathsep.join(filter(None, sys.path))
    try:
        child = subprocess.run(
            [sys.executable, "-P", "-c", _CHILD],  # nothing from the working directory
            input=question,
            capture_output=True,
            text=True,
            timeout=_CHILD_SECONDS,
            env={**os.environ, "PYTHONPATH": path},
            check=True,
        )
        answered = json.loads(child.stdout)
    except subprocess.TimeoutExpired:
        raise ValueError(f"it is not unlocked after {_CHILD_SECONDS:.0f} seconds") from None
    except (OSError, subprocess.CalledProcessError, json.JSONDecodeError):
        return unlock(data, password)  # it cannot be told what is wrong with the other process
    if "error" in answered:
        raise ValueError(answered["error"])
    return Unlocked(**answered)


def answer() -> None:
    """The other process: a question on its input, an answer on its output."""
    question = json.load(sys.stdin)
    try:
        found = unlock(b64decode(question["data"]), question["password"])
    except ValueError as error:
        json.dump({"error": str(error)}, sys.stdout)
    else:
        json.dump(found._asdict(), sys.stdout)
