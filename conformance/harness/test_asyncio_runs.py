"""A scenario in asyncio leaves no connection to the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl
import threading
from pathlib import Path

import pytest

from conformance.harness.asyncio_runs import run_in_asyncio
from tests.kafkalite.security.certificates import Authority

SECONDS = 0.2


def test_a_peer_takes_its_time_to_end_tls(tmp_path: Path) -> None:
    authority = Authority()
    identity = authority.server()
    pem = tmp_path / "server.pem"
    pem.write_text(identity.certificate + identity.key)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    closing = threading.Event()

    def serve() -> None:
        with listener.accept()[0] as plain, context.wrap_socket(plain, server_side=True):
            closing.wait(10)

    async def scenario() -> None:
        trusting = ssl.create_default_context(cadata=authority.certificate)
        where = listener.getsockname()
        _, writer = await asyncio.open_connection(*where, ssl=trusting, server_hostname="127.0.0.1")
        writer.close()
        threading.Timer(SECONDS, closing.set).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = threading.Thread(target=serve)
        serving.start()
        run_in_asyncio(scenario())
        serving.join()
    assert closing.is_set()
    # Its warning would be an error of this test.
    gc.collect()


def test_the_outcome_is_told() -> None:
    async def scenario() -> int:
        return 7

    assert run_in_asyncio(scenario()) == 7


def test_a_failure_is_raised() -> None:
    async def scenario() -> None:
        raise LookupError("no")

    with pytest.raises(LookupError, match="no"):
        run_in_asyncio(scenario())
