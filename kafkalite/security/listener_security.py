"""One listener's demands on its clients, and the key and trust stores that it gets while it runs.

Source: KIP-226, Kafka's DynamicListenerConfig and SslFactory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct
from msgspec.structs import replace

from kafkalite.config import BrokerConfig, ConfigError
from kafkalite.config.listener_configs import PREFIX, STORES, ListenerConfigs
from kafkalite.config.listeners import WITH_SASL
from kafkalite.log.loggers import logger_of

# Modules that most brokers do not need are imported at their first use.
if TYPE_CHECKING:
    from kafkalite.requests.slices import WaitingSteps
    from kafkalite.security.authentication import Mechanism
    from kafkalite.security.listener_tls import ListenerTls
    from kafkalite.security.principal_mapping import PrincipalMapper

# The room's: operators know its name.
logger = logger_of("kafkalite.security.security")

_ERRORS: Final = "org.apache.kafka.common"


class ListenerSecurity(Struct, frozen=True):
    """One listener's demands on its clients. Times in seconds, sizes in bytes."""

    protocol: str
    tls: ListenerTls | None = None
    mechanisms: Mapping[str, Mechanism] | None = None
    principals: PrincipalMapper | None = None
    max_receive_bytes: int = 0
    failure_delay: float = 0.0


class RunningListener:
    """A listener that was started. `made` are its demands now."""

    def __init__(
        self, node_id: int, name: str, dynamic: Mapping[str, str], made: ListenerSecurity
    ) -> None:
        """`dynamic` are the dynamic configs of its node."""
        self.name = name
        self.made = made
        self._node_id = node_id
        self._at_start = self._dynamic = dynamic
        # The stores that a check has found good, before they are in force.
        self._checked: _Reading | None = None

    def follow(self, config: BrokerConfig, dynamic: Mapping[str, str]) -> None:
        """Take the stores that its node's dynamic configs name now; the others stay as they are."""
        if self._dynamic is dynamic:
            return
        self._dynamic = dynamic
        if self.made.tls is None:
            return
        reading, self._checked = self._checked, None
        texts = self._with_stores_of(dynamic)
        if reading is None or reading.texts != texts:
            reading = self._reading(config, texts)
            reading(apart=False)
        try:
            tls = reading.result()
            _check_names(self.made, tls, reading.configs)
        except ConfigError as error:
            # Checked when it was set; files may have changed since.
            logger.error("listener %s goes on with its earlier security: %s", self.name, error)
        else:
            self.made = replace(self.made, tls=tls)

    def checking(self, config: BrokerConfig, dynamic: Mapping[str, str]) -> WaitingSteps[None]:
        """Check the stores that it would have with these configs of its node.

        A thread reads them: to unlock one takes tens of milliseconds, or as long as its iterations
        want. Raises ConfigError with a Java exception as Kafka shows it.

        The same ones are read again, as a file may have changed, but not judged: the listener goes
        on with what it has if they are not good.
        """
        if self.made.tls is None:
            return
        before = ListenerConfigs(config, self.name, self._node_id)
        reading = self._reading(config, dynamic)
        yield reading
        if all(before.value(each) == reading.configs.value(each) for each in STORES):
            self._checked = reading if self._with_stores_of(dynamic) == dynamic else None
            return
        try:
            tls = reading.result()
        except ConfigError as error:
            raise ConfigError(f"{_ERRORS}.errors.InvalidConfigurationException: {error}") from None
        refused: list[ConfigError] = []

        def compare() -> None:
            try:
                _check_names(self.made, tls, before)
            except ConfigError as error:
                refused.append(error)

        yield compare  # in a thread: what reads names takes 15 ms to import
        try:
            for refusal in refused:
                raise refusal
            if _has_trust_store(reading.configs) and not _has_trust_store(before):
                raise ConfigError(
                    "Cannot add SSL truststore to an existing listener for which no truststore "
                    "was configured."
                )
        except ConfigError as error:
            raise ConfigError(f"{_ERRORS}.config.ConfigException: {error}") from None
        texts = self._with_stores_of(dynamic)
        if texts != dynamic:  # other configs wait for the next start
            reading = self._reading(config, texts)
            yield reading
        self._checked = reading

    def _reading(self, config: BrokerConfig, texts: Mapping[str, str]) -> _Reading:
        configs = ListenerConfigs(config, self.name, self._node_id, texts)
        return _Reading(configs, texts, with_sasl=self.made.protocol in WITH_SASL)

    def _with_stores_of(self, dynamic: Mapping[str, str]) -> Mapping[str, str]:
        """The configs of its start, with other stores."""
        stores = tuple(f"{PREFIX}{self.name.lower()}.{each}" for each in STORES)
        kept = {key: text for key, text in self._at_start.items() if key not in stores}
        return kept | {key: dynamic[key] for key in stores if key in dynamic}


class _Reading:
    """The TLS of a listener, from the dynamic configs `texts`; called, it reads the stores."""

    def __init__(
        self, configs: ListenerConfigs, texts: Mapping[str, str], *, with_sasl: bool
    ) -> None:
        self.configs = configs
        self.texts = texts
        self._with_sasl = with_sasl
        self._result: ListenerTls | ConfigError | None = None

    def __call__(self, *, apart: bool = True) -> None:
        """`apart`: by another process, where the interpreter would stand still."""
        try:
            self._result = read_tls(self.configs, with_sasl=self._with_sasl, apart=apart)
        except ConfigError as error:
            self._result = error

    def result(self) -> ListenerTls:
        """The TLS. Raises ConfigError."""
        assert self._result is not None
        if isinstance(self._result, ConfigError):
            raise self._result
        return self._result


def read_tls(configs: ListenerConfigs, *, with_sasl: bool, apart: bool = False) -> ListenerTls:
    """The TLS of a listener, whose stores are read. Raises ConfigError."""
    from kafkalite.security.listener_tls import listener_tls
    from kafkalite.security.pkcs12 import unlock, unlock_apart

    return listener_tls(configs, with_sasl=with_sasl, unlock=unlock_apart if apart else unlock)


def _check_names(made: ListenerSecurity, after: ListenerTls, configs: ListenerConfigs) -> None:
    from kafkalite.security.certificate_names import check_names

    assert made.tls is not None
    check_names(made.tls.certificate, after.certificate, configs)


def _has_trust_store(configs: ListenerConfigs) -> bool:
    names = ("ssl.truststore.location", "ssl.truststore.certificates")
    return any(configs.string(name) is not None for name in names)
