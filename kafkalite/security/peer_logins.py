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
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.jaas import JaasEntry
from kafkalite.security.listener_sasl import MODULES, jaas_entry
from kafkalite.security.sasl.client import (
    OAuthBearerClient,
    PlainClient,
    SaslClient,
    ScramClient,
)
from kafkalite.security.sasl.jwks import file_of
from kafkalite.security.sasl.mechanism import SaslFailure
from kafkalite.security.sasl.oauthbearer import OAUTHBEARER
from kafkalite.security.sasl.own_tokens import (
    ClientCredentials,
    EndpointTokens,
    file_token,
    unsecured_token,
)
from kafkalite.security.sasl.plain import PLAIN
from kafkalite.security.sasl.scram import MECHANISMS

_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"
_UNSECURED: Final = (
    None,
    f"{_PACKAGE}.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler",
)
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
        raise ConfigError(
            f"config sasl.login.callback.handler.class={handler}: kafkalite runs no Java classes"
        )
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
    return EndpointTokens(ClientCredentials(url, client_id, secret, setting("scope", "scope")))
