"""Connections go from one broker to the next, open."""

from __future__ import annotations

import socket
from typing import Any

import trio

from kafkalite.requests.principal import ANONYMOUS
from kafkalite.server.released import Released, close_released
from kafkalite.server.transport import PlainTransport
from kafkalite.testing import broker as test_broker
from kafkalite.wire.messages.api_versions import ApiVersionsRequest
from kafkalite.wire.messages.metadata import MetadataRequest


def test_what_nobody_took_is_closed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        transport = PlainTransport.over(ours)
        address = ("127.0.0.1", 5)
        released = Released(transport, address, 1, "PLAINTEXT", "", ("a", "1"), ANONYMOUS)
        close_released([released])
        assert theirs.recv(1) == b""


async def test_a_quiet_connection_is_released_and_adopted(
    broker: test_broker, connect: Any
) -> None:
    """By the broker that it had, which is as good as another one."""
    client = await connect(broker, 1, "app")
    software = ApiVersionsRequest(
        client_software_name="librdkafka", client_software_version="2.6.0"
    )
    await client.ask(software)
    connections = broker._running.connections
    (released,) = await connections.release()
    assert (released.node_id, released.client_id) == (1, "app")
    assert len(connections) == 0
    assert connections.adopt([released]) == 1
    (again,) = connections
    assert again.context.client_software == ("librdkafka", "2.6.0")
    assert (await client.ask(MetadataRequest(topics=[]))).cluster_id == broker.cluster_id


async def test_one_with_half_a_request_stays(broker: test_broker, connect: Any) -> None:
    client = await connect(broker, 1, "app")
    await client.ask(MetadataRequest(topics=[]))
    await client.stream.send_all(b"\0\0")
    connections = broker._running.connections
    (connection,) = connections
    while not connection._channel.reader.has_input:
        await trio.lowlevel.checkpoint()
    assert await connections.release() == []
    assert len(connections) == 1


async def test_one_of_a_node_that_is_not_there_is_closed(broker: test_broker, connect: Any) -> None:
    client = await connect(broker, 1, "app")
    await client.ask(MetadataRequest(topics=[]))
    connections = broker._running.connections
    (released,) = await connections.release()
    assert connections.adopt([released._replace(node_id=9)]) == 0
    assert await client.stream.receive_some() == b""
