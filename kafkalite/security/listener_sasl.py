"""The SASL mechanisms of a listener, from its `sasl.*` configs.

GSSAPI is refused: it needs a Kerberos realm and its libraries, which a broker for tests has not.
Source: Kafka's SaslChannelBuilder, ChannelBuilders and JaasContext.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Final

from kafkalite.config import ConfigError
from kafkalite.config.definition import no_java_class
from kafkalite.config.listener_configs import ListenerConfigs
from kafkalite.security.authentication import Mechanism
from kafkalite.security.jaas import (
    OAUTHBEARER_MODULE,
    PLAIN_MODULE,
    SCRAM_MODULE,
    JaasEntry,
    JaasError,
    parse_jaas,
)
from kafkalite.security.sasl import scram
from kafkalite.security.sasl.jwks import FileKeys, KeysUnavailable, RefreshTimes, UrlKeys, file_of
from kafkalite.security.sasl.oauthbearer import OAUTHBEARER, OAuthBearerServer
from kafkalite.security.sasl.plain import PLAIN, PlainServer, passwords_of
from kafkalite.security.sasl.scram import Credentials, ScramMechanism, ScramServer
from kafkalite.security.sasl.tokens import (
    SignedTokenRules,
    SignedTokens,
    UnsecuredTokenRules,
    UnsecuredTokens,
)

MODULES: Final = {
    PLAIN: PLAIN_MODULE,
    OAUTHBEARER: OAUTHBEARER_MODULE,
    **dict.fromkeys(scram.MECHANISMS, SCRAM_MODULE),
}
_PACKAGE: Final = "org.apache.kafka.common.security."
_SIGNED: Final = (
    f"{_PACKAGE}oauthbearer.OAuthBearerValidatorCallbackHandler",
    f"{_PACKAGE}oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
)
_UNSECURED: Final = (
    f"{_PACKAGE}oauthbearer.internals.unsecured.OAuthBearerUnsecuredValidatorCallbackHandler"
)
_HANDLERS: Final = {
    PLAIN: (f"{_PACKAGE}plain.internals.PlainServerCallbackHandler",),
    OAUTHBEARER: (*_SIGNED, _UNSECURED),
    **dict.fromkeys(scram.MECHANISMS, (f"{_PACKAGE}scram.internals.ScramServerCallbackHandler",)),
}
_VALIDATORS: Final = (
    f"{_PACKAGE}oauthbearer.DefaultJwtValidator",
    f"{_PACKAGE}oauthbearer.BrokerJwtValidator",
)


UrlKeysOf = Callable[[str, RefreshTimes], UrlKeys]


def listener_sasl(
    configs: ListenerConfigs,
    credentials: Credentials,
    jaas_file: Mapping[str, JaasEntry],
    keys_of: UrlKeysOf,
) -> Mapping[str, Mechanism]:
    """The mechanisms of a listener by name. Raises ConfigError.

    `jaas_file` has entries by login module, for what has no `sasl.jaas.config`. `keys_of` gives the
    keys behind a URL of http or https, and raises KeysUnavailable.
    """
    names = configs.items("sasl.enabled.mechanisms")
    if not names:
        raise ConfigError("sasl.enabled.mechanisms: a listener with SASL needs one at least")
    return {name: _mechanism(name, configs, credentials, jaas_file, keys_of) for name in names}


def _mechanism(
    name: str,
    configs: ListenerConfigs,
    credentials: Credentials,
    jaas_file: Mapping[str, JaasEntry],
    keys_of: UrlKeysOf,
) -> Mechanism:
    if name not in MODULES:
        why = "Kerberos is not served here" if name == "GSSAPI" else "it is not known"
        raise ConfigError(
            f"sasl.enabled.mechanisms: {name}: {why}; there are {', '.join(sorted(MODULES))}"
        )
    handler = configs.own("sasl.server.callback.handler.class", name)
    if handler and handler not in _HANDLERS[name]:
        raise no_java_class(f"sasl.server.callback.handler.class={handler}")
    jaas = jaas_entry(name, configs, jaas_file)
    max_session_ms = configs.integer("connections.max.reauth.ms", name)
    if name == PLAIN:
        if jaas is None:
            raise ConfigError(_missing_jaas(name))
        check = passwords_of(jaas.options)
        return Mechanism(lambda: PlainServer(check), max_session_ms)
    if name == OAUTHBEARER:
        start = _oauthbearer(configs, jaas, is_signed=handler in _SIGNED, keys_of=keys_of)
        return Mechanism(start, max_session_ms)
    mechanism: ScramMechanism = scram.MECHANISMS[name]
    return Mechanism(lambda: ScramServer(mechanism, credentials), max_session_ms)


def jaas_entry(
    name: str, configs: ListenerConfigs, jaas_file: Mapping[str, JaasEntry]
) -> JaasEntry | None:
    """The login module of a mechanism at a listener, None if none is set. Raises ConfigError."""
    line = configs.own("sasl.jaas.config", name)
    wanted = MODULES[name]
    if line is None:
        return jaas_file.get(wanted)
    try:
        entry = parse_jaas(str(line))
    except JaasError as error:
        raise ConfigError(f"sasl.jaas.config of {name}: {error}") from None
    if entry.login_module != wanted:
        raise ConfigError(
            f"sasl.jaas.config of {name}: the login module is {entry.login_module}, and must be "
            f"{wanted}"
        )
    return entry


def _missing_jaas(name: str) -> str:
    return (
        f"sasl.enabled.mechanisms: {name} needs its users; set listener.name.<listener>."
        f"{name.lower()}.sasl.jaas.config"
    )


def _oauthbearer(
    configs: ListenerConfigs, jaas: JaasEntry | None, *, is_signed: bool, keys_of: UrlKeysOf
) -> Callable[[], OAuthBearerServer]:
    def text(name: str) -> str | None:
        return configs.string(f"sasl.oauthbearer.{name}", OAUTHBEARER)

    def number(name: str) -> int:
        return configs.integer(f"sasl.oauthbearer.{name}", OAUTHBEARER)

    url = text("jwks.endpoint.url")
    if not is_signed:
        if url is not None:
            raise ConfigError(
                "sasl.oauthbearer.jwks.endpoint.url is used by signed tokens only; set "
                "listener.name.<listener>.oauthbearer.sasl.server.callback.handler.class="
                f"{_SIGNED[0]}"
            )
        options: Mapping[str, str] = {} if jaas is None else jaas.options
        try:
            unsecured = UnsecuredTokens(UnsecuredTokenRules.of(options))
        except ValueError as error:
            raise ConfigError(f"sasl.jaas.config of OAUTHBEARER: {error}") from None
        return lambda: OAuthBearerServer(unsecured)
    _need_pyjwt()
    validator = configs.string("sasl.oauthbearer.jwt.validator.class", OAUTHBEARER)
    if validator not in _VALIDATORS:
        raise no_java_class(f"sasl.oauthbearer.jwt.validator.class={validator}")
    if url is None:
        raise ConfigError(
            "sasl.oauthbearer.jwks.endpoint.url: signed tokens need the keys that verify them"
        )
    times = RefreshTimes(
        number("jwks.endpoint.refresh.ms") / 1000,
        number("jwks.endpoint.retry.backoff.ms") / 1000,
        number("jwks.endpoint.retry.backoff.max.ms") / 1000,
    )
    try:
        found = FileKeys(file_of(url)) if url.startswith("file:") else keys_of(url, times)
    except (KeysUnavailable, ValueError) as error:
        raise ConfigError(f"sasl.oauthbearer.jwks.endpoint.url: {error}") from None
    rules = SignedTokenRules(
        audiences=configs.items("sasl.oauthbearer.expected.audience", OAUTHBEARER),
        issuer=text("expected.issuer"),
        clock_skew_seconds=number("clock.skew.seconds"),
        scope_claim=text("scope.claim.name") or "scope",
        subject_claim=text("sub.claim.name") or "sub",
    )
    signed = SignedTokens(found, rules)
    return lambda: OAuthBearerServer(signed)


def _need_pyjwt() -> None:
    if find_spec("jwt") is None:
        raise ConfigError("signed OAUTHBEARER tokens need pip install kafkalite[security]")
