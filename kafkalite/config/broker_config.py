"""BrokerConfig: the configs of a broker as one object, from all their sources.

From the strongest to the weakest: dynamic per node, dynamic for all nodes (both KIP-226, changed
while running), flags, environment, file, what kafkalite itself sets, Kafka's default.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

from msgspec.structs import replace

from kafkalite.config.choices import check_choices
from kafkalite.config.connection_limits import check_at_start
from kafkalite.config.definition import (
    BROKER_CONFIGS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    ConfigError,
    ConfigValue,
    scaled,
    text_in_force,
)
from kafkalite.config.listeners import Listener, moved, parse_listeners, parse_protocol_map
from kafkalite.config.log_dirs import EVERY_LOG_DIR, check_cordoned
from kafkalite.config.releases import Release, releases
from kafkalite.config.sources import (
    at_address,
    below_a_new_listener,
    built_in,
    check,
    located,
    own_defaults,
    read_file,
)
from kafkalite.config.together import check_values
from kafkalite.log.config import LogConfig

# The values of replica.selector.class (KIP-392) that Kafka itself comes with.
LEADER_SELECTOR: Final = "org.apache.kafka.common.replica.LeaderSelector"
RACK_AWARE_SELECTOR: Final = "org.apache.kafka.common.replica.RackAwareReplicaSelector"

# The most different configs of topics that are kept to be shared.
_MOST_LOG_CONFIGS: Final = 1000
# The fields of LogConfig that are topic configs.
_LOG_CONFIGS: Final = tuple(
    name
    for name in (field.name.replace("_", ".") for field in fields(LogConfig))
    if name in TOPIC_CONFIGS
)


class BrokerConfig:
    """Typed access by Kafka's names: `config.integer("num.partitions")`.

    A name that is not in the table is a KeyError: a mistake in the program, not of the user.
    """

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        """Takes what a program gives. Raises ConfigError, also for unknown names."""
        properties = properties or {}
        check(properties, strict_names=True)
        self._initialize(properties)

    def _initialize(self, properties: Mapping[str, str]) -> None:
        self.given: Mapping[str, str] = dict(properties)
        self.own_defaults: Mapping[str, str] = own_defaults(properties)
        self.static: dict[str, str] = {**self.own_defaults, **built_in(properties), **properties}
        # Two names of one thing, as in Kafka; the older one counts where it stands alone.
        if int(properties.get("broker.id", -1)) >= 0 and "node.id" not in properties:
            self.static["node.id"] = properties["broker.id"]
        self.static["broker.id"] = self.static["node.id"]
        self.dynamic_default: dict[str, str] = {}
        self.dynamic_by_node: dict[int, dict[str, str]] = {}
        self._values: dict[tuple[int, str], ConfigValue] = {}
        self._log_configs: dict[tuple[int | None, frozenset[tuple[str, str]]], LogConfig] = {}
        self._subscribers: list[Callable[[], None]] = []
        self._check_together()

    @classmethod
    def from_sources(
        cls,
        file: Path | None = None,
        environment: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
        new_listener: bool = False,
        *,
        host: str | None = None,
        port: int | None = None,
    ) -> BrokerConfig:
        """Flags over environment over file. Raises ConfigError.

        `host` and `port` are for the first listener. A `new_listener` of the flags replaces all.

        Names unknown to Kafka and to us are an error in flags; elsewhere they are left aside with
        a warning, since properties files hold settings of plugins, too.
        """
        from kafkalite.config.environment import read_environment, variables

        from_file = read_file(file) if file else {}
        from_environment = read_environment(environment or {})
        together = {**from_file, **from_environment, **(flags or {})}
        if together.get("config.providers"):
            from kafkalite.config.providers import resolved

            with_values = resolved(together, environment or {})
            from_file, from_environment = with_values(from_file), with_values(from_environment)
            flags = with_values(flags or {})
            together = with_values(together)
        in_file = dict.fromkeys(from_file, str(file))
        in_environment = variables(environment or {})
        check(from_file, places=in_file)
        check(from_environment, places=in_environment)
        check(flags or {}, strict_names=True)
        places = {**in_file, **in_environment}
        if new_listener:
            together = below_a_new_listener(together, flags or {}, places)
        for name in flags or {}:
            places.pop(name, None)
        config = cls.__new__(cls)
        try:
            config._initialize({**together, **at_address(together, host, port)})
        except ConfigError as error:
            raise located(error, places) from None
        return config

    def afresh(self, changes: Mapping[str, str]) -> BrokerConfig:
        """A new configuration: the one given at first, with these changes. Raises ConfigError."""
        config = type(self).__new__(type(self))
        config._initialize({**self.given, **changes})
        return config

    def is_given(self, name: str) -> bool:
        """True if a file, the environment, a flag or a program set it."""
        return name in self.given

    def __getitem__(self, name: str) -> ConfigValue:
        """The value in force, on the first node where they differ."""
        return self.value(name)

    def value(self, name: str, node_id: int | None = None) -> ConfigValue:
        """The value in force on a node, None for the first."""
        node_id = self.node_id if node_id is None else node_id
        try:
            return self._values[node_id, name]
        except KeyError:
            value = BROKER_CONFIGS[name].parse(self._text(name, node_id))
            self._values[node_id, name] = value
            return value

    def _text(self, name: str, node_id: int) -> str | None:
        own = self.dynamic_by_node.get(node_id, {})
        return text_in_force(name, (own, self.dynamic_default), self.static)

    def boolean(self, name: str, node_id: int | None = None) -> bool:
        """A value of type boolean."""
        value = self.value(name, node_id)
        assert isinstance(value, bool), name
        return value

    def integer(self, name: str, node_id: int | None = None) -> int:
        """A value of type int, short or long that is set."""
        value = self.value(name, node_id)
        assert isinstance(value, int), name
        return value

    def double(self, name: str) -> float:
        """A value of type double that is set."""
        value = self[name]
        assert isinstance(value, float), name
        return value

    def string(self, name: str, node_id: int | None = None) -> str | None:
        """A value of type string, class or password; None when unset."""
        value = self.value(name, node_id)
        assert value is None or isinstance(value, str), name
        return value

    @cached_property
    def release(self) -> Release | None:
        """The release of Apache Kafka that the broker is to look like; None for the newest."""
        name = self.string("kafkalite.as.version")
        return None if name is None else releases()[name]

    @property
    def seed(self) -> int | None:
        """The number that ids are made of; None leaves them to chance."""
        return None if self["kafkalite.seed"] is None else self.integer("kafkalite.seed")

    def items(self, name: str, node_id: int | None = None) -> tuple[str, ...]:
        """A value of type list; empty when unset."""
        value = self.value(name, node_id) or ()
        assert isinstance(value, tuple), name
        return value

    @property
    def node_id(self) -> int:
        """The id of this process' first node."""
        return int(self.static["node.id"])

    @property
    def node_ids(self) -> range:
        """The ids of all nodes this process presents."""
        return range(self.node_id, self.node_id + self.integer("kafkalite.nodes"))

    def add_node(self) -> int:
        """One node more; its id."""
        node_id = self.node_ids.stop
        self.static["kafkalite.nodes"] = str(len(self.node_ids) + 1)
        self._values.clear()
        self._log_configs.clear()
        return node_id

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The data directories; the metadata is in the first."""
        return self.items("log.dirs") or self.items("log.dir")

    @property
    def data_directory(self) -> Path:
        """The directory that everything is kept in."""
        return Path(self.log_dirs[0])

    @property
    def has_control_port(self) -> bool:
        """True if a control port was asked for, or the page, which is on it."""
        return self["kafkalite.control.port"] is not None or self.boolean("kafkalite.ui")

    def is_cordoned(self, directory: str | Path, node_id: int | None = None) -> bool:
        """True if a data directory gets no new partitions (KIP-1066)."""
        cordoned = self.items("cordoned.log.dirs", node_id)
        names = (EVERY_LOG_DIR, str(directory), str(Path(directory).absolute()))
        return any(name in cordoned for name in names)

    def rack(self, node_id: int) -> str | None:
        """A node's rack: from kafkalite.racks, in turn, else broker.rack."""
        if racks := self.items("kafkalite.racks"):
            return racks[(node_id - self.node_id) % len(racks)]
        return self.string("broker.rack")

    def static_of(self, node_id: int) -> Mapping[str, str]:
        """The static configs of a node, as it would have them in a file of its own."""
        own = dict(self.static)
        if rack := self.rack(node_id):
            own["broker.rack"] = rack
        if node_id == self.node_id:
            return own
        own |= {"node.id": str(node_id), "broker.id": str(node_id)}
        controllers = {item.upper() for item in self.items("controller.listener.names")}
        for name in ("listeners", "advertised.listeners"):
            if name in own:
                step = node_id - self.node_id
                own[name] = ",".join(
                    item
                    if item.partition(":")[0].strip().upper() in controllers
                    else _with_next_port(item.strip(), step)
                    for item in own[name].split(",")
                )
        return own

    def partition_count(self, asked: int) -> int:
        """The partitions of a new topic: as many as are asked for, or for -1 the default."""
        return self.integer("num.partitions") if asked == -1 else asked

    def listeners(self, node_id: int | None = None) -> list[Listener]:
        """The addresses a node listens on. Each further node takes the next port, if it is not
        0."""
        return self._for_node("listeners", self.items("listeners"), node_id)

    def advertised_listeners(self, node_id: int | None = None) -> list[Listener]:
        """The addresses clients are told. Port 0 stands for the port that the listener got."""
        return [
            replace(listener, host=listener.host or socket.getfqdn())
            for listener in self._advertised(node_id)
        ]

    def _advertised(self, node_id: int | None = None) -> list[Listener]:
        items = self.items("advertised.listeners") or self.items("listeners")
        return self._for_node("advertised.listeners", items, node_id)

    def _for_node(self, name: str, items: tuple[str, ...], node_id: int | None) -> list[Listener]:
        controllers = {item.upper() for item in self.items("controller.listener.names")}
        protocols = parse_protocol_map(self.string("listener.security.protocol.map") or "")
        for controller in controllers:
            protocols.setdefault(controller, "PLAINTEXT")
        step = 0 if node_id is None else node_id - self.node_id
        return [
            moved(name, listener, step)
            for listener in parse_listeners(name, items, protocols)
            if listener.name not in controllers
        ]

    def _check_together(self) -> None:
        """Check values against each other. Raises ConfigError."""
        listeners = {listener.name for listener in self.listeners(self.node_ids[-1])}
        if not listeners:
            raise ConfigError("listeners: there is no listener for clients")
        self._advertised(self.node_ids[-1])
        for advertised in self._advertised():
            if advertised.name not in listeners:
                raise ConfigError(
                    f"advertised.listeners: {advertised.name} is not one of listeners"
                )
            if advertised.host in ("0.0.0.0", "::"):
                raise ConfigError(
                    f"advertised.listeners: clients cannot connect to {advertised.host}; name a "
                    "host that they can reach, as in --set advertised.listeners="
                    f"{advertised.name}://localhost:{advertised.port}"
                )
        self._check_listener_prefixes()
        selector = self.string("replica.selector.class")
        if selector not in (None, "", LEADER_SELECTOR, RACK_AWARE_SELECTOR):
            raise ConfigError(
                f"replica.selector.class={selector}: it may be {LEADER_SELECTOR} or "
                f"{RACK_AWARE_SELECTOR}"
            )
        if self.node_id < 0:
            raise ConfigError(f"node.id={self.node_id}: Value must be at least 0")
        check_cordoned(self.items("cordoned.log.dirs"), self.log_dirs)
        check_values(self.value)
        check_at_start(self)
        check_choices(self)

    def _check_listener_prefixes(self) -> None:
        """Refuse configs of a listener that is not there. Raises ConfigError."""
        listeners = {name.partition("://")[0].strip() for name in self.items("listeners")}
        known = {name.lower() for name in listeners | {*self.items("controller.listener.names")}}
        for name in self.static:
            if name.startswith("listener.name."):
                listener = name.removeprefix("listener.name.").partition(".")[0]
                if listener not in known:
                    raise ConfigError(f"{name}: there is no listener {listener.upper()}")

    # Topics

    def topic_value(
        self, name: str, overrides: Mapping[str, str], node_id: int | None = None
    ) -> ConfigValue:
        """A topic config in force: the topic's own value, else the node's, else the default."""
        definition = TOPIC_CONFIGS[name]
        if name in overrides:
            return definition.parse(overrides[name])
        for synonym, factor in TOPIC_CONFIG_SYNONYMS.get(name, ()):
            value = self.value(synonym, node_id)
            if value is not None:
                return scaled(value, factor)
        return definition.parse(definition.default)

    def log_config(self, overrides: Mapping[str, str], node_id: int | None = None) -> LogConfig:
        """The configs of one topic's logs on a node, as plain values. Raises ConfigError.

        Topics that are configured alike share them.
        """
        key = (node_id, frozenset(overrides.items()))
        found = self._log_configs.get(key)
        if found is None:
            if len(self._log_configs) >= _MOST_LOG_CONFIGS:
                self._log_configs.clear()
            found = self._log_configs[key] = self._make_log_config(overrides, node_id)
        return found

    def _make_log_config(self, overrides: Mapping[str, str], node_id: int | None) -> LogConfig:
        values = {
            name.replace(".", "_"): self.topic_value(name, overrides, node_id)
            for name in _LOG_CONFIGS
        }
        smaller = self.topic_value("internal.segment.bytes", overrides, node_id)
        if smaller is not None:
            values["segment_bytes"] = smaller
        values["visible_after_flush"] = self["kafkalite.visible.after.flush"]
        values["verify_transactions"] = self["transaction.partition.verification.enable"]
        return LogConfig(**cast("dict[str, Any]", values), jitter_seed=self.seed)

    # Dynamic configs

    def set_dynamic(self, node_id: int | None, properties: Mapping[str, str]) -> None:
        """Replace the dynamic configs of a node, or with None of all nodes, and tell everyone."""
        if node_id is None:
            self.dynamic_default = dict(properties)
        else:
            self.dynamic_by_node[node_id] = dict(properties)
        self._values.clear()
        self._log_configs.clear()
        for subscriber in self._subscribers:
            subscriber()

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each change of the dynamic configs."""
        self._subscribers.append(callback)


def _with_next_port(listener: str, step: int) -> str:
    """`NAME://host:port` with the port of a later node. Port 0 stays: any free port."""
    address, _, port = listener.rpartition(":")
    return f"{address}:{int(port) + step}" if port.isdecimal() and int(port) else listener
