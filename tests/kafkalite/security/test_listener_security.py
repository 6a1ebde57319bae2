"""A running listener's stores are read by a thread, once for the check and once to be used."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from kafkalite.config import BrokerConfig
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.requests.slices import at_once
from kafkalite.security import listener_security
from kafkalite.security.listener_tls import ListenerTls
from kafkalite.security.security import Security
from kafkalite.testing import broker
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.kafkalite.security.test_security import AUTHORITY, Image, tls_configs

BROKER = 4


@pytest.fixture
def readers(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """The thread of each time that stores are read."""
    found: list[threading.Thread] = []
    read = listener_security.read_tls

    def told(configs: ListenerConfigs, *, with_sasl: bool, apart: bool) -> ListenerTls:
        found.append(threading.current_thread())
        return read(configs, with_sasl=with_sasl, apart=apart)

    monkeypatch.setattr(listener_security, "read_tls", told)
    return found


def other_store() -> dict[str, str]:
    server = AUTHORITY.server()
    return {
        "listener.name.ssl.ssl.keystore.key": server.key,
        "listener.name.ssl.ssl.keystore.certificate.chain": server.certificate,
    }


def certificate(made: Security) -> str:
    tls = made.listener(1, "SSL", "SSL").tls
    assert tls is not None
    return tls.certificate.strip()


@pytest.mark.parametrize(
    ("other", "count"), [({}, 1), ({"listener.name.ssl.ssl.client.auth": "none"}, 2)]
)
def test_what_a_check_has_read_is_used(
    readers: list[threading.Thread], other: dict[str, str], count: int
) -> None:
    """It reads twice where configs have changed that wait for the next start."""
    config = BrokerConfig(tls_configs())
    made = Security(config, Image)
    certificate(made)
    store = other_store() | other
    steps = made.check_stores(1, "ssl", store)
    read_by_waits = 0
    for wait in steps:
        assert len(readers) == read_by_waits
        assert wait is not None
        wait()
        read_by_waits = len(readers)
    config.dynamic_by_node = {1: store}
    assert certificate(made) == store["listener.name.ssl.ssl.keystore.certificate.chain"].strip()
    assert len(readers) == read_by_waits == count


def test_a_thread_compares_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its modules take 15 ms to import."""
    compared: list[bool] = []
    monkeypatch.setattr(listener_security, "_check_names", lambda *_: compared.append(in_wait))
    made = Security(BrokerConfig(tls_configs()), Image)
    certificate(made)
    in_wait = False
    for wait in made.check_stores(1, "ssl", other_store()):
        in_wait = True
        assert wait is not None
        wait()
        in_wait = False
    assert compared == [True]


def test_what_was_checked_in_vain_is_not_used(readers: list[threading.Thread]) -> None:
    config = BrokerConfig(tls_configs())
    made = Security(config, Image)
    certificate(made)
    at_once(made.check_stores(1, "ssl", other_store()))
    store = other_store()
    config.dynamic_by_node = {1: store}
    assert certificate(made) == store["listener.name.ssl.ssl.keystore.certificate.chain"].strip()
    assert len(readers) == 2


def test_the_same_store_is_not_judged_again(
    readers: list[threading.Thread], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its file may have changed. If it is not good the listener goes on with what it has."""
    server, file = AUTHORITY.server(), tmp_path / "server.pem"
    file.write_text(server.key + server.certificate)
    store = {"listener.name.ssl.ssl.keystore.location": str(file)}
    listeners = {"listeners": "PLAINTEXT://:0,SSL://:0"}
    config = BrokerConfig({**listeners, **store, "ssl.keystore.type": "PEM"})
    made = Security(config, Image)
    assert certificate(made) == server.certificate.strip()
    file.write_text("broken")
    at_once(made.check_stores(1, "ssl", store))
    config.dynamic_by_node = {1: store}
    assert certificate(made) == server.certificate.strip()
    assert "goes on with its earlier security" in caplog.text
    other = AUTHORITY.server()
    file.write_text(other.key + other.certificate)
    at_once(made.check_stores(1, "ssl", store))
    config.dynamic_by_node = {1: dict(store)}
    assert certificate(made) == other.certificate.strip()
    assert len(readers) == 2


async def test_a_request_does_not_read_on_the_loop(
    readers: list[threading.Thread], connect: Any
) -> None:
    listeners = {"listeners": "PLAINTEXT://127.0.0.1:0,SSL://127.0.0.1:0"}
    async with broker(tls_configs() | listeners) as running:
        loop = threading.current_thread()
        readers.clear()
        configs = [
            AlterableConfig(name=name, config_operation=0, value=value)
            for name, value in other_store().items()
        ]
        resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=configs)
        client = await connect(running)
        answer = await client.ask(IncrementalAlterConfigsRequest(resources=[resource]))
        assert [each.error_code for each in answer.responses] == [ErrorCode.NONE]
        assert len(readers) == 1
        assert loop not in readers
