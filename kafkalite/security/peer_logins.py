"""The login of a broker at other nodes, from the `sasl.*` configs of their listener.

    PLAIN, SCRAM    `username` and `password` of the login module
    OAUTHBEARER     an unsecured token, or one of `sasl.oauthbearer.token.endpoint.url`

Source: Kafka's SaslChannelBuilder, JaasContext.loadServerContext, OAuthBearerLoginCallbackHandler.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from kafkalite.config import ConfigError
from kafkalite.config.definition import no_java_class
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.jaas import JaasEntry
from kafkalite.security.listener_sasl import MODULES, jaas_entry
from kafkalite.security.sasl.client import OAuthBearerClient, PlainClient, SaslClient, ScramClient
from kafkalite.security.sasl.jwks import file_of
from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.oauthbearer import OAUTHBEARER
from kafkalite.security.sasl.own_tokens import (
    EndpointTokens,
    RefreshWindow,
    file_token,
    unsecured_token,
)
from kafkalite.security.sasl.plain import PLAIN
from kafkalite.security.sasl.scram import MECHANISMS
from kafkalite.security.sasl.token_endpoint import Patience, TokenEndpoint

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_UNSECURED: Final = (
    None,
    f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
)
# A year: sockets take no infinity.
_FOR_EVER: Final = 365 * 86400.0
_OF_ENDPOINT: Final = (
    f"{_PACKAGE}.OAuthBearerLoginCallbackHandler",
    f"{_PACKAGE}.secured.OAuthBearerLoginCallbackHandler",
)


def login_of(
    mechanism: str, configs: ListenerConfigs, jaas_file: Mapping[str, JaasEntry]
) -> Callable[[], SaslClient]:
    """Begins a conversation with a node. Raises ConfigError."""
    if mechanism not in MODULES:
        why = "Kerberos is not served here" if mechanism == "GSSAPI" else "it is not known"
        raise ConfigError(f"sasl mechanism {mechanism}: {why}; there are {', '.join(MODULES)}")
    jaas = jaas_entry(mechanism, configs, jaas_file)
    if jaas is None:
        raise ConfigError(
            f"sasl mechanism {mechanism}: the login is not known; set listener.name.<listener>."
            f"{mechanism.lower()}.sasl.jaas.config"
        )
    options = jaas.options
    if mechanism == OAUTHBEARER:
        return partial(OAuthBearerClient, _tokens(configs, options))
    user, password = options.get("username"), options.get("password")
    if user is None or password is None:
        raise ConfigError(f"sasl.jaas.config of {mechanism}: it has no username and password")
    if mechanism == PLAIN:
        return partial(PlainClient, user, password)
    return partial(ScramClient, MECHANISMS[mechanism], options)


def _tokens(configs: ListenerConfigs, options: Mapping[str, str]) -> Callable[[], str]:
    handler = configs.string("sasl.login.callback.handler.class", OAUTHBEARER)
    if handler in _UNSECURED:
        try:
            unsecured_token(options)
        except SaslFailure as error:
            raise ConfigError(f"sasl.jaas.config of OAUTHBEARER: {error}") from None
        return partial(unsecured_token, options)
    if handler not in _OF_ENDPOINT:
        raise no_java_class(f"sasl.login.callback.handler.class={handler}")
    name = "sasl.oauthbearer.token.endpoint.url"
    url = configs.string(name, OAUTHBEARER)
    parts = urlsplit(url or "")
    if url is not None and parts.scheme == "file":
        try:
            return partial(file_token, file_of(url))
        except ValueError as error:
            raise ConfigError(f"{name}: {error}") from None
    if url is None or parts.scheme not in ("http", "https") or not parts.netloc:
        raise ConfigError(f"{name}: a login by tokens needs a URL of a file, of http or of https")

    def setting(config: str, option: str) -> str | None:
        return configs.string(f"sasl.oauthbearer.{config}", OAUTHBEARER) or options.get(option)

    client_id = setting("client.credentials.client.id", "clientId")
    secret = setting("client.credentials.client.secret", "clientSecret")
    if client_id is None or secret is None:
        raise ConfigError("sasl.oauthbearer.client.credentials.client.id and .secret are not set")
    endpoint = TokenEndpoint(url, client_id, secret, setting("scope", "scope"), patience(configs))
    return EndpointTokens(endpoint, refresh_window(configs))


def patience(configs: ListenerConfigs) -> Patience:
    """`sasl.login.*` about the provider's answers. Raises ConfigError."""
    usual = Patience()

    def seconds(name: str, unset: float) -> float:
        value = configs.value(f"sasl.login.{name}.ms", OAUTHBEARER)
        if value is None:
            return unset
        assert isinstance(value, int), name
        if value < 0:
            raise ConfigError(f"config sasl.login.{name}.ms={value}: it is negative")
        return value / 1000

    patience = Patience(
        # 0 is for ever in Java.
        connect=seconds("connect.timeout", usual.connect) or _FOR_EVER,
        read=seconds("read.timeout", usual.read) or _FOR_EVER,
        first_wait=seconds("retry.backoff", usual.first_wait),
        longest=seconds("retry.backoff.max", usual.longest),
    )
    if patience.longest < patience.first_wait:
        raise ConfigError(
            "sasl.login.retry.backoff.max.ms is less than sasl.login.retry.backoff.ms"
        )
    return patience


def refresh_window(configs: ListenerConfigs) -> RefreshWindow:
    """`sasl.login.refresh.*`. Raises ConfigError."""

    def number(name: str) -> float:
        value = configs.value(f"sasl.login.refresh.{name}", OAUTHBEARER)
        assert isinstance(value, int | float), name
        return value

    return RefreshWindow(
        number("window.factor"),
        number("window.jitter"),
        number("min.period.seconds"),
        number("buffer.seconds"),
    )
