"""The security of one broker: who may do what, the tokens, the quotas, and each listener's own.

Everything is made of configs and of the metadata, and follows both while they change. Configs that
cannot be obeyed raise ConfigError, at the start or when they are changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias
from uuid import UUID

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.definition import no_java_class
from kafkalite.config.listener_configs import PREFIX, ListenerConfigs
from kafkalite.config.listeners import WITH_SASL, WITH_TLS
from kafkalite.log.loggers import logger_of
from kafkalite.requests.hosts import addresses_of
from kafkalite.security.listener_security import ListenerSecurity, RunningListener, read_tls
from kafkalite.wire.messages.stored.access_control_entry_record import AccessControlEntryRecord
from kafkalite.wire.messages.stored.client_quota_record import ClientQuotaRecord
from kafkalite.wire.messages.stored.delegation_token_record import DelegationTokenRecord
from kafkalite.wire.messages.stored.remove_access_control_entry_record import (
    RemoveAccessControlEntryRecord,
)
from kafkalite.wire.messages.stored.remove_delegation_token_record import (
    RemoveDelegationTokenRecord,
)
from kafkalite.wire.messages.stored.user_scram_credential_record import UserScramCredentialRecord

# Modules that most brokers do not need are imported at their first use.
if TYPE_CHECKING:
    from kafkalite.requests.slices import WaitingSteps
    from kafkalite.security.authentication import Mechanism
    from kafkalite.security.authorizer import Authorizer
    from kafkalite.security.delegation_tokens import DelegationTokens
    from kafkalite.security.jaas import JaasEntry
    from kafkalite.security.jaas_file import JaasFile
    from kafkalite.security.node_quotas import NodeQuotas, QuotaLimits
    from kafkalite.security.principal_mapping import PrincipalMapper
    from kafkalite.security.sasl.jwks import RefreshTimes, UrlKeys
    from kafkalite.security.sasl.scram import ScramCredential, ScramMechanism, TokenCredential

logger = logger_of(__name__)

_DEFAULT_PRINCIPAL_BUILDERS: Final = (
    None,
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
)
_NEEDS_AUTHORIZER: Final = ("super.users", "allow.everyone.if.no.acl.found")
_SECURITY: Final = "org.apache.kafka.common.security"
# Java classes by which a broker logs in elsewhere, for one listener or for all. Kafka's own
# do what kafkalite does.
_LOGIN_CLASSES: Final = {
    "sasl.client.callback.handler.class": (f"{_SECURITY}.authenticator.SaslClientCallbackHandler",),
    "sasl.login.class": (
        f"{_SECURITY}.authenticator.DefaultLogin",
        f"{_SECURITY}.oauthbearer.internals.OAuthBearerRefreshingLogin",
    ),
    "sasl.oauthbearer.jwt.retriever.class": (
        f"{_SECURITY}.oauthbearer.DefaultJwtRetriever",
        f"{_SECURITY}.oauthbearer.ClientCredentialsJwtRetriever",
        f"{_SECURITY}.oauthbearer.FileJwtRetriever",
    ),
}
_NO_CONFIGS: Final[Mapping[str, str]] = {}
_NO_ENTRIES: Final[Mapping[str, JaasEntry]] = {}
_NO_QUOTAS: Final[Mapping[str, float]] = {}
_TOKEN_RECORDS: Final = (DelegationTokenRecord, RemoveDelegationTokenRecord)


QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]


class Metadata(Protocol):
    """The part of the metadata image that security is made of."""

    access_control_entries: dict[UUID, AccessControlEntryRecord]
    delegation_tokens: dict[str, DelegationTokenRecord]
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord]
    quotas: dict[QuotaEntity, dict[str, float]]


class Security:
    """All of it, for all nodes of a broker."""

    def __init__(self, config: BrokerConfig, metadata: Callable[[], Metadata]) -> None:
        """`metadata` gives the image of the moment. Raises ConfigError."""
        self._config = config
        self._metadata = metadata
        self._listeners: dict[tuple[int, str], RunningListener] = {}
        self._jaas_file = _jaas_file(config)
        self._tokens: DelegationTokens | None = None
        self._quotas: dict[int, NodeQuotas] = {}
        self._limits: QuotaLimits | None = None
        self._quotas_changed: Callable[[], None] | None = None
        # Addresses of the hosts that quotas name; a host without one is held by no quota.
        self.addresses: dict[str, str] = {}
        self._keys: dict[tuple[str, RefreshTimes], UrlKeys] = {}
        self._run_keys: Callable[[UrlKeys], None] | None = None
        self.authorizer = _authorizer(config)
        _check_unused(config)
        if self.authorizer is not None:
            self._change_acls(self.authorizer, metadata().access_control_entries.values())
        if metadata().quotas:
            self._limits_in_force()

    @property
    def tokens(self) -> DelegationTokens:
        """The delegation tokens."""
        if self._tokens is None:
            from kafkalite.security.delegation_tokens import DelegationTokens, TokenRules

            config = self._config
            rules = TokenRules(
                config.string("delegation.token.secret.key") or None,
                config.integer("delegation.token.max.lifetime.ms"),
                config.integer("delegation.token.expiry.time.ms"),
            )
            self._tokens = DelegationTokens(rules, lambda: self._metadata().delegation_tokens)
        return self._tokens

    @property
    def has_tokens(self) -> bool:
        """True if there may be delegation tokens."""
        return bool(self._config.string("delegation.token.secret.key"))

    # From the metadata

    def changed(self, records: Sequence[object]) -> None:
        """Follow a change of the metadata."""
        if self.authorizer is not None:
            self._change_acls(self.authorizer, records)
        if any(isinstance(record, ClientQuotaRecord) for record in records):
            self._change_quotas(records)
            if self._quotas_changed is not None:
                self._quotas_changed()
        for record in records:
            if isinstance(record, _TOKEN_RECORDS):
                self.tokens.forget(record.token_id)

    def when_quotas_change(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each change of the quotas."""
        self._quotas_changed = callback

    def _change_acls(self, authorizer: Authorizer, records: Iterable[object]) -> None:
        from kafkalite.security.acls import Acl

        for record in records:
            if isinstance(record, AccessControlEntryRecord):
                authorizer.add(record.id, Acl.from_record(record))
            elif isinstance(record, RemoveAccessControlEntryRecord):
                authorizer.remove(record.id)

    @property
    def has_quotas(self) -> bool:
        """True if anybody has a quota."""
        return bool(self._metadata().quotas)

    def quotas(self, node_id: int) -> NodeQuotas:
        """The quotas of a node, which measures its own clients."""
        found = self._quotas.get(node_id)
        if found is None:
            from kafkalite.security.node_quotas import NodeQuotas

            found = self._quotas[node_id] = NodeQuotas(self._config, self._limits_in_force())
        return found

    def _limits_in_force(self) -> QuotaLimits:
        """The limits of all entities. They are made at the first call, and kept up to date."""
        if self._limits is None:
            from kafkalite.security.node_quotas import QuotaLimits

            quotas = self._metadata().quotas
            self._look_up(quotas)
            self._limits = QuotaLimits(quotas, self.addresses)
        return self._limits

    def _change_quotas(self, records: Iterable[object]) -> None:
        """Follow a change of quotas. Others, which may be very many, are not looked at."""
        limits, quotas = self._limits_in_force(), self._metadata().quotas
        changed = {
            tuple(sorted((part.entity_type, part.entity_name) for part in record.entity))
            for record in records
            if isinstance(record, ClientQuotaRecord)
        }
        self._look_up(changed)
        for entity in changed:
            limits.put(entity, quotas.get(entity, _NO_QUOTAS), self.addresses)

    def _look_up(self, entities: Iterable[QuotaEntity]) -> None:
        """Hosts that were not looked up when their quotas were set, but at an earlier start or by
        controllers, are looked up now, once."""
        from kafkalite.security.quotas import named_hosts

        unknown = named_hosts(entities) - self.addresses.keys()
        self.addresses.update(addresses_of(unknown))

    # Credentials, as SCRAM asks for them

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        """A user's credential."""
        from kafkalite.security.sasl.scram import ScramCredential

        record = self._metadata().scram_credentials.get((user, mechanism.number))
        if record is None:
            return None
        return ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        """A delegation token as a credential."""
        return self.tokens.credential(mechanism, token_id)

    # Listeners

    def listener(self, node_id: int, name: str, protocol: str) -> ListenerSecurity:
        """A listener's demands now. Raises ConfigError.

        Key and trust stores that are changed while it runs are used for new connections
        (KIP-226). Its other configs stay those of its start (DynamicListenerConfig).
        """
        dynamic = self._config.dynamic_by_node.get(node_id, _NO_CONFIGS)
        found = self._listeners.get((node_id, name))
        if found is None:
            made = self.make_listener(self._config, node_id, name, protocol)
            found = self._listeners[node_id, name] = RunningListener(node_id, name, dynamic, made)
        else:
            found.follow(self._config, dynamic)
        return found.made

    def check_stores(
        self, node_id: int, name: str, dynamic: Mapping[str, str]
    ) -> WaitingSteps[None]:
        """Check the stores that a listener would have with these configs of its node.

        Raises ConfigError with a Java exception as Kafka shows it (SslFactory). `name` is in small
        letters (KIP-103).
        """
        for (known_id, known), running in tuple(self._listeners.items()):
            if (known_id, known.lower()) == (node_id, name):
                now = self._config.dynamic_by_node.get(node_id, _NO_CONFIGS)
                running.follow(self._config, now)
                yield from running.checking(self._config, dynamic)

    def make_listener(
        self, config: BrokerConfig, node_id: int, name: str, protocol: str
    ) -> ListenerSecurity:
        """A listener's demands with these configs. Raises ConfigError."""
        if protocol == "PLAINTEXT":
            return ListenerSecurity(protocol)
        configs = ListenerConfigs(config, name, node_id)
        builder = configs.string("principal.builder.class")
        if builder not in _DEFAULT_PRINCIPAL_BUILDERS:
            raise no_java_class(f"principal.builder.class={builder}")
        try:
            return ListenerSecurity(
                protocol,
                read_tls(configs, with_sasl=protocol in WITH_SASL)
                if protocol in WITH_TLS
                else None,
                self._mechanisms(configs, name) if protocol in WITH_SASL else None,
                _principals(configs) if protocol == "SSL" else None,
                configs.integer("sasl.server.max.receive.size"),
                configs.integer("connection.failed.authentication.delay.ms") / 1000,
            )
        except ConfigError as error:
            raise ConfigError(f"listener {name}: {error}") from None

    def _mechanisms(self, configs: ListenerConfigs, listener: str) -> Mapping[str, Mechanism]:
        from kafkalite.security.listener_sasl import listener_sasl

        file = self._jaas_file
        entries = _NO_ENTRIES if file is None else file.entries(listener)
        return listener_sasl(configs, self, entries, self._keys_of)

    def _keys_of(self, url: str, times: RefreshTimes) -> UrlKeys:
        """The keys behind a URL, fetched; one for all listeners. Raises KeysUnavailable."""
        found = self._keys.get((url, times))
        if found is None:
            from kafkalite.security.sasl.jwks import UrlKeys

            found = UrlKeys(url, times)
            found.fetch()
            self._keys[url, times] = found
            if self._run_keys is not None:
                self._run_keys(found)
        return found

    def run_keys(self, run: Callable[[UrlKeys], None]) -> None:
        """Let `run` keep keys behind URLs fresh: those there are, and those to come."""
        self._run_keys = run
        for keys in self._keys.values():
            run(keys)


def _principals(configs: ListenerConfigs) -> PrincipalMapper:
    from kafkalite.security.principal_mapping import PrincipalMapper

    try:
        return PrincipalMapper(configs.string("ssl.principal.mapping.rules") or "DEFAULT")
    except ValueError as error:
        raise ConfigError(f"ssl.principal.mapping.rules: {error}") from None


def _jaas_file(config: BrokerConfig) -> JaasFile | None:
    path = config.string("kafkalite.jaas.file")
    if not path:
        return None
    from kafkalite.security.jaas_file import JaasFile

    return JaasFile(path)


def _authorizer(config: BrokerConfig) -> Authorizer | None:
    name = config.string("authorizer.class.name") or ""
    texts = {key: config.static.get(key) for key in _NEEDS_AUTHORIZER}
    if not name:
        for key, text in texts.items():
            if text is not None:
                logger.warning("%s has no effect without authorizer.class.name", key)
        return None
    from kafkalite.security.authorizer import STANDARD_AUTHORIZER, Authorizer, parse_super_users

    if name != STANDARD_AUTHORIZER:
        raise ConfigError(
            f"config authorizer.class.name={name}: kafkalite has {STANDARD_AUTHORIZER} only"
        )
    try:
        super_users = parse_super_users(texts["super.users"])
    except ValueError as error:
        raise ConfigError(f"super.users: {error}") from None
    allow = (texts["allow.everyone.if.no.acl.found"] or "").strip().lower() == "true"
    return Authorizer(super_users, allow_if_no_acl=allow)


def _check_unused(config: BrokerConfig) -> None:
    """Security that Kafka itself would pass over. Raises ConfigError."""
    for key in config.static:
        if key.startswith(PREFIX) or not key.endswith("sasl.jaas.config"):
            continue
        raise ConfigError(
            f"{key} is used by no listener; write it as "
            "listener.name.<listener>.<mechanism>.sasl.jaas.config, in small letters"
        )
    if config.string("security.providers"):
        raise no_java_class("security.providers")
    for key, text in config.static.items():
        known = next((each for name, each in _LOGIN_CLASSES.items() if key.endswith(name)), None)
        if known is not None and text.strip() and text.strip() not in known:
            raise no_java_class(f"{key}={text.strip()}")


def scram_records(texts: Iterable[str]) -> list[UserScramCredentialRecord]:
    """Credentials to begin with, each `mechanism:user:password`. Raises ConfigError."""
    from kafkalite.security.sasl.scram import MECHANISMS, make_credential

    records: list[UserScramCredentialRecord] = []
    for text in texts:
        name, _, rest = text.partition(":")
        user, colon, password = rest.partition(":")
        mechanism = MECHANISMS.get(name.strip().upper())
        if mechanism is None or not user or not colon or not password:
            raise ConfigError(
                "kafkalite.scram.credentials: each line is mechanism:user:password, with one of "
                + ", ".join(MECHANISMS)
            )
        made = make_credential(mechanism, password)
        records.append(
            UserScramCredentialRecord(
                name=user,
                mechanism=mechanism.number,
                salt=made.salt,
                stored_key=made.stored_key,
                server_key=made.server_key,
                iterations=made.iterations,
            )
        )
    return records
