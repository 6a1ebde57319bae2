"""The security of one broker: who may do what, the tokens, the quotas, and each listener's own.

Everything is made of configs and of the metadata, and follows both while they change. Configs that
cannot be obeyed raise ConfigError, at the start or when they are changed.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from uuid import UUID

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import PREFIX, ListenerConfigs
from kafkalite.security.acls import Acl
from kafkalite.security.authentication import Mechanism
from kafkalite.security.authorizer import STANDARD_AUTHORIZER, Authorizer, parse_super_users
from kafkalite.security.delegation_tokens import DelegationTokens, TokenRules
from kafkalite.security.jaas import JaasEntry, JaasError, parse_jaas_file
from kafkalite.security.listener_sasl import listener_sasl
from kafkalite.security.listener_tls import listener_context
from kafkalite.security.node_quotas import NodeQuotas
from kafkalite.security.principal_mapping import PrincipalMapper
from kafkalite.security.quotas import Entity
from kafkalite.security.sasl.jwks import UrlKeys
from kafkalite.security.sasl.scram import ScramCredential, ScramMechanism, TokenCredential
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

logger = logging.getLogger(__name__)

SASL: Final = frozenset({"SASL_PLAINTEXT", "SASL_SSL"})
TLS: Final = frozenset({"SSL", "SASL_SSL"})
_DEFAULT_PRINCIPAL_BUILDERS: Final = (
    None,
    "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",
)
_NEEDS_AUTHORIZER: Final = ("super.users", "allow.everyone.if.no.acl.found")
_ACL_RECORDS: Final = (AccessControlEntryRecord, RemoveAccessControlEntryRecord)
_TOKEN_RECORDS: Final = (DelegationTokenRecord, RemoveDelegationTokenRecord)


class Metadata(Protocol):
    """The part of the metadata image that security is made of."""

    access_control_entries: dict[UUID, AccessControlEntryRecord]
    delegation_tokens: dict[str, DelegationTokenRecord]
    scram_credentials: dict[tuple[str, int], UserScramCredentialRecord]
    quotas: dict[Entity, dict[str, float]]


@dataclass(frozen=True, slots=True)
class ListenerSecurity:
    """What one listener asks of its clients. Times in seconds, sizes in bytes."""

    protocol: str
    context: ssl.SSLContext | None = None
    mechanisms: Mapping[str, Mechanism] | None = None
    principals: PrincipalMapper | None = None
    max_receive_bytes: int = 0
    failure_delay: float = 0.0
    keys: tuple[UrlKeys, ...] = ()


class Security:
    """All of it, for all nodes of a broker."""

    def __init__(self, config: BrokerConfig, metadata: Metadata) -> None:
        """Raises ConfigError."""
        self._config = config
        self._metadata = metadata
        self._listeners: dict[tuple[int, str], tuple[object, ListenerSecurity]] = {}
        self._jaas_file = _read_jaas_file(config.string("kafkalite.jaas.file"))
        self.authorizer = _authorizer(config)
        rules = TokenRules(
            config.string("delegation.token.secret.key") or None,
            config.integer("delegation.token.max.lifetime.ms"),
            config.integer("delegation.token.expiry.time.ms"),
        )
        self.tokens = DelegationTokens(rules, lambda: metadata.delegation_tokens)
        self._quotas: dict[int, NodeQuotas] = {}
        _check_unused(config)
        self._take_acls()

    # From the metadata

    def changed(self, records: Sequence[object]) -> None:
        """Follow a change of the metadata."""
        if any(isinstance(record, _ACL_RECORDS) for record in records):
            self._take_acls()
        if any(isinstance(record, ClientQuotaRecord) for record in records):
            for quotas in self._quotas.values():
                quotas.replace(self._metadata.quotas)
        for record in records:
            if isinstance(record, _TOKEN_RECORDS):
                self.tokens.forget(record.token_id)

    def _take_acls(self) -> None:
        if self.authorizer is not None:
            entries = self._metadata.access_control_entries
            self.authorizer.replace({key: Acl.from_record(entries[key]) for key in entries})

    def quotas(self, node_id: int) -> NodeQuotas:
        """The quotas of a node, which measures its own clients."""
        found = self._quotas.get(node_id)
        if found is None:
            found = self._quotas[node_id] = NodeQuotas(self._config)
            found.replace(self._metadata.quotas)
        return found

    # Credentials, as SCRAM asks for them

    def scram(self, mechanism: ScramMechanism, user: str) -> ScramCredential | None:
        """A user's credential."""
        record = self._metadata.scram_credentials.get((user, mechanism.number))
        if record is None:
            return None
        return ScramCredential(record.salt, record.stored_key, record.server_key, record.iterations)

    def token(self, mechanism: ScramMechanism, token_id: str) -> TokenCredential | None:
        """A delegation token as a credential."""
        return self.tokens.credential(mechanism, token_id)

    # Listeners

    def listener(self, node_id: int, name: str, protocol: str) -> ListenerSecurity:
        """What a listener asks now. Raises ConfigError.

        It is made anew when the configs of the node have changed, so that a key store that was
        changed while running is used for new connections (KIP-226).
        """
        stamp = self._config.dynamic_by_node.get(node_id, {})
        found = self._listeners.get((node_id, name))
        if found is not None and found[0] is stamp:
            return found[1]
        try:
            made = self.make_listener(self._config, node_id, name, protocol)
        except ConfigError as error:
            if found is None:
                raise
            # Checked when it was set; files may have changed since.
            logger.error("listener %s goes on with its earlier security: %s", name, error)
            made = found[1]
        self._listeners[node_id, name] = (stamp, made)
        return made

    def make_listener(
        self, config: BrokerConfig, node_id: int, name: str, protocol: str
    ) -> ListenerSecurity:
        """What a listener would ask with these configs. Raises ConfigError."""
        if protocol == "PLAINTEXT":
            return ListenerSecurity(protocol)
        configs = ListenerConfigs(config, name, node_id)
        builder = configs.string("principal.builder.class")
        if builder not in _DEFAULT_PRINCIPAL_BUILDERS:
            raise ConfigError(
                f"config principal.builder.class={builder}: kafkalite runs no Java classes"
            )
        try:
            context = (
                listener_context(configs, with_sasl=protocol in SASL) if protocol in TLS else None
            )
            sasl = listener_sasl(configs, self, self._jaas_of(name)) if protocol in SASL else None
            rules = configs.string("ssl.principal.mapping.rules") or "DEFAULT"
            principals = PrincipalMapper(rules) if protocol == "SSL" else None
        except ConfigError as error:
            raise ConfigError(f"listener {name}: {error}") from None
        except ValueError as error:
            raise ConfigError(f"listener {name}: ssl.principal.mapping.rules: {error}") from None
        return ListenerSecurity(
            protocol,
            context,
            None if sasl is None else sasl.mechanisms,
            principals,
            configs.integer("sasl.server.max.receive.size"),
            configs.integer("connection.failed.authentication.delay.ms") / 1000,
            () if sasl is None else sasl.keys,
        )

    def _jaas_of(self, listener: str) -> Mapping[str, JaasEntry]:
        for context in (f"{listener.lower()}.KafkaServer", "KafkaServer"):
            if context in self._jaas_file:
                return {entry.login_module: entry for entry in self._jaas_file[context]}
        return {}


def _authorizer(config: BrokerConfig) -> Authorizer | None:
    name = config.string("authorizer.class.name") or ""
    texts = {key: config.static.get(key) for key in _NEEDS_AUTHORIZER}
    if not name:
        for key, text in texts.items():
            if text is not None:
                raise ConfigError(f"{key} is set, but authorizer.class.name is not")
        return None
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
        raise ConfigError("config security.providers: kafkalite runs no Java classes")


def _read_jaas_file(path: str | None) -> dict[str, list[JaasEntry]]:
    if not path:
        return {}
    try:
        return parse_jaas_file(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read the JAAS file {path}: {error.strerror}") from None
    except (JaasError, UnicodeDecodeError) as error:
        raise ConfigError(f"the JAAS file {path}: {error}") from None


ListenerOf = Callable[[int, str, str], ListenerSecurity]
