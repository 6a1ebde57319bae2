"""Connections to other nodes of the cluster, by TLS and SASL where their listener asks for it.

The configs are those of the listener's name: `listener.name.<name>.ssl.*` and `.sasl.*`, and
`sasl.mechanism.inter.broker.protocol` or `sasl.mechanism.controller.protocol`.
Source: ChannelBuilders.clientChannelBuilder, SaslClientAuthenticator.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Final

import trio

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.config.listeners import WITH_SASL, WITH_TLS
from kafkalite.config.quorum import PeerListener
from kafkalite.peers.exchange import Exchange
from kafkalite.peers.link import Address, Connect, Connection, connect_tcp, exchanged
from kafkalite.security.jaas_file import JaasFile
from kafkalite.security.listener_tls import client_context
from kafkalite.security.peer_logins import login_of
from kafkalite.security.sasl.client import SaslClient
from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkalite.wire.messages.sasl_handshake import SaslHandshakeRequest

# A session is renewed, by another connection, when this share of it is over.
_SHARE_OF_SESSION: Final = 0.85


def peer_connect(config: BrokerConfig, peers: PeerListener) -> Connect:
    """The way to connect to nodes at a secured listener. Raises ConfigError."""
    protocol = peers.security_protocol
    stores = _Stores(config, peers.listener) if protocol in WITH_TLS else None
    login: Callable[[], SaslClient] | None = None
    if protocol in WITH_SASL:
        configs = ListenerConfigs(config, peers.listener, config.node_id)
        jaas_file = JaasFile(config.string("kafkalite.jaas.file"))
        try:
            login = login_of(peers.mechanism, configs, jaas_file.entries(peers.listener))
        except ConfigError as error:
            raise ConfigError(f"listener {peers.listener}: {error}") from None
    return _SecuredConnect(stores, login)


class _Stores:
    """The TLS of a listener's clients, made anew when the node's dynamic configs change."""

    def __init__(self, config: BrokerConfig, listener: str) -> None:
        """Raises ConfigError."""
        self._config = config
        self._listener = listener
        self._stamp: object = None
        self._context = self._made()

    @property
    def context(self) -> ssl.SSLContext:
        """The context of this moment. Raises ConfigError."""
        if self._stamp is not self._config.dynamic_by_node.get(self._config.node_id):
            self._context = self._made()
        return self._context

    def _made(self) -> ssl.SSLContext:
        config = self._config
        self._stamp = config.dynamic_by_node.get(config.node_id)
        try:
            return client_context(ListenerConfigs(config, self._listener, config.node_id))
        except ConfigError as error:
            raise ConfigError(f"listener {self._listener}: {error}") from None


@dataclass(frozen=True, slots=True)
class _SecuredConnect:
    """Connects to a node. Raises OSError, trio.BrokenResourceError; see Link for the rest."""

    stores: _Stores | None
    login: Callable[[], SaslClient] | None

    async def __call__(self, address: Address) -> Connection:
        connection = await connect_tcp(address)
        stream, usable_until = connection.stream, connection.usable_until
        try:
            if self.stores is not None:
                stream = await _encrypted(stream, self.stores, address.host)
            if self.login is not None:
                usable_until = await _logged_in(stream, self.login())
        except BaseException:
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(stream)
            raise
        return Connection(stream, usable_until)


async def _encrypted(stream: trio.abc.Stream, stores: _Stores, host: str) -> trio.abc.Stream:
    try:
        tls = trio.SSLStream(stream, stores.context, server_hostname=host, https_compatible=True)
        await tls.do_handshake()
        return tls
    except ConfigError as error:
        raise ConnectionError(str(error)) from None
    except trio.BrokenResourceError as error:
        reason = error.__cause__ or "the connection was closed"
        raise ConnectionError(f"no TLS: {reason}") from error


async def _logged_in(stream: trio.abc.Stream, client: SaslClient) -> float:
    """Log in; the time until which the connection is to be used, on trio's clock.

    Messages are made in a thread, as a password's hash takes milliseconds, and a token may come
    from a network.
    """
    exchange = Exchange("kafkalite-login")
    exchange.versions_received(await exchanged(stream, exchange, exchange.versions_request()))
    handshake = SaslHandshakeRequest(mechanism=client.mechanism)
    offered = await exchanged(stream, exchange, handshake)
    if offered.error_code != ErrorCode.NONE:
        raise ConnectionError(
            f"{client.mechanism} is not among its mechanisms, {', '.join(offered.mechanisms)}"
        )
    try:
        message: bytes | None = await trio.to_thread.run_sync(client.first)
        lifetime_ms = 0
        while message is not None:
            request = SaslAuthenticateRequest(auth_bytes=message)
            answer = await exchanged(stream, exchange, request)
            if answer.error_code != ErrorCode.NONE:
                raise SaslFailure(answer.error_message or ErrorCode(answer.error_code).name)
            lifetime_ms = answer.session_lifetime_ms
            message = await trio.to_thread.run_sync(client.answer, answer.auth_bytes)
    except SaslFailure as error:
        raise ConnectionError(f"not logged in: {error}") from None
    if not lifetime_ms:
        return inf
    return trio.current_time() + _SHARE_OF_SESSION * lifetime_ms / 1000
