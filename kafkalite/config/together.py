"""Values of a node's configs that must fit each other, at its start and when they change.

Source of rules, order and words: Kafka's GroupCoordinatorConfig, KafkaConfig.validateValues, and
what takes new values in DynamicBrokerConfig.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from kafkalite.config.definition import (
    BROKER_CONFIGS,
    TOPIC_CONFIG_SYNONYMS,
    ConfigError,
    ConfigValue,
    in_all_configs,
    scaled,
)
from kafkalite.config.listener_configs import PREFIX

if TYPE_CHECKING:
    from collections.abc import Iterable

# The value of a config by its name, None where it is unset.
Values = Callable[[str], ConfigValue]

_FAMILIES: Final = ("consumer", "share", "streams")
_HEARTBEAT: Final = "heartbeat.interval.ms"
_SESSION: Final = "session.timeout.ms"
_ASSIGNMENT: Final = "assignment.interval.ms"
_NETWORK_THREADS: Final = "num.network.threads"
# A running node may have at most double and at least half as many at once.
_THREADS: Final = (
    "num.io.threads",
    "num.replica.fetchers",
    "num.recovery.threads.per.data.dir",
    "background.threads",
    "remote.log.reader.threads",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
)
_DELAY: Final = "connection.failed.authentication.delay.ms"
_IDLE: Final = "connections.max.idle.ms"
_CLEANERS: Final = "log.cleaner.threads"
_MEMORY_OF_A_CLEANER: Final = 1 << 20
_NO_LIMIT: Final = -1
_AS_ALL_RECORDS: Final = -2


def from_texts(texts: Mapping[str, str]) -> Values:
    """The values of a node that is configured so."""
    return lambda name: BROKER_CONFIGS[name].parse(texts.get(name, BROKER_CONFIGS[name].default))


def check_values(values: Values) -> None:
    """Check the configs of a node together. Raises ConfigError."""
    for first, relation, second in _group_rules():
        one, other = _number(values, first), _number(values, second)
        holds = {
            "greater than or equal to": one >= other,
            "less than or equal to": one <= other,
            "less than": one < other,
        }
        if not holds[relation]:
            raise ConfigError(f"{first} must be {relation} {second}")
    _check_log(values)
    _check_replication(values)
    _check_connections(values)


def _group_rules() -> Iterator[tuple[str, str, str]]:
    """Pairs of configs of groups, and how the first must stand to the second."""
    for family in _FAMILIES:
        for name in (_HEARTBEAT, _SESSION, _ASSIGNMENT):
            own = f"group.{family}.{name}"
            least, most = f"group.{family}.min.{name}", f"group.{family}.max.{name}"
            yield most, "greater than or equal to", least
            yield own, "greater than or equal to", least
            yield own, "less than or equal to", most
            if name == _SESSION:
                yield f"group.{family}.{_HEARTBEAT}", "less than", own


def _check_log(values: Values) -> None:
    if _of_topics(values, "segment.ms") < 1:
        raise _unfit("log.roll.ms must be greater than or equal to 1")
    if _of_topics(values, "segment.jitter.ms") < 0:
        raise _unfit("log.roll.jitter.ms must be greater than or equal to 0")
    if _of_topics(values, "retention.ms") == 0:
        raise _unfit("log.retention.ms must be unlimited (-1) or, greater than or equal to 1")
    cleaners = _number(values, _CLEANERS)
    if cleaners == 0:
        raise ConfigError("/ by zero")
    if _number(values, "log.cleaner.dedupe.buffer.size") // cleaners <= _MEMORY_OF_A_CLEANER:
        raise _unfit("log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.")


def _check_replication(values: Values) -> None:
    wait_ms = _number(values, "replica.fetch.wait.max.ms")
    if wait_ms > _number(values, "replica.socket.timeout.ms"):
        raise _unfit(
            "replica.socket.timeout.ms should always be at least replica.fetch.wait.max.ms to "
            "prevent unnecessary socket timeouts"
        )
    if wait_ms > _number(values, "replica.lag.time.max.ms"):
        raise _unfit(
            "replica.fetch.wait.max.ms should always be less than or equal to "
            "replica.lag.time.max.ms to prevent frequent changes in ISR"
        )


def _check_connections(values: Values) -> None:
    delay_ms, idle_ms = _number(values, _DELAY), _number(values, _IDLE)
    if 0 <= idle_ms <= delay_ms:
        raise _unfit(
            f"{_DELAY}={delay_ms} should always be less than {_IDLE}={idle_ms} to prevent failed "
            "authentication responses from timing out"
        )


def check_change(
    before: Mapping[str, str], after: Mapping[str, str], listener_names: Iterable[str]
) -> None:
    """Check that a node which runs with `before` may go on with `after`. Raises ConfigError."""
    old, new = from_texts(before), from_texts(after)
    check_values(new)
    for listener_name in listener_names:
        own = f"{PREFIX}{listener_name.lower()}.{_NETWORK_THREADS}"
        _check_threads(_NETWORK_THREADS, *(_network_threads(each, own) for each in (before, after)))
    for name in _THREADS:
        _check_threads(name, _number(old, name), _number(new, name))
    _check_cleaners(_number(old, _CLEANERS), _number(new, _CLEANERS))
    _check_local(new, "log.local.retention.ms", "retention.ms", "log.retention.ms")
    _check_local(new, "log.local.retention.bytes", "retention.bytes", "log.retention.bytes")


def _network_threads(texts: Mapping[str, str], own: str) -> int:
    """The number of threads of a listener, which may have its own."""
    return _number(
        from_texts({**texts, _NETWORK_THREADS: texts[own]} if own in texts else texts),
        _NETWORK_THREADS,
    )


def _check_threads(name: str, old: int, new: int) -> None:
    reason = _too_different(
        old,
        new,
        f"value should be at least half the current value {old}",
        f"value should not be greater than double the current value {old}",
    )
    if reason:
        raise ConfigError(
            in_all_configs(
                f"Dynamic thread count update validation failed for {name}={new}, {reason}"
            )
        )


def _check_cleaners(old: int, new: int) -> None:
    reason = _too_different(
        old,
        new,
        f"reduced to less than half the current value {old}",
        f"increased to more than double the current value {old}",
    )
    if reason:
        raise ConfigError(in_all_configs(f"Log cleaner threads cannot be {reason}"))


def _too_different(old: int, new: int, too_few: str, too_many: str) -> str:
    """The words for a number of threads that a running node cannot go on with, or no words."""
    if new > old * 2:
        return too_many
    return too_few if new < old // 2 else ""


def _check_local(values: Values, name: str, topic_config: str, shown: str) -> None:
    """Check that no more is to be kept locally than is kept at all."""
    local, most = _number(values, name), _of_topics(values, topic_config)
    if most < 0 or local == _AS_ALL_RECORDS:
        return
    reason = ""
    if local == _NO_LIMIT:
        reason = f"Value must not be -1 as {shown} value is set as {most}."
    elif local > most:
        reason = f"Value must not be more than {shown} property value: {most}"
    if reason:
        raise ConfigError(
            in_all_configs(f"Invalid value {local} for configuration {name}: {reason}")
        )


def _of_topics(values: Values, topic_config: str) -> int:
    """A topic config of the node, for a topic that has none of its own."""
    for name, factor in TOPIC_CONFIG_SYNONYMS[topic_config]:
        value = scaled(values(name), factor)
        if isinstance(value, int):
            return value
    raise AssertionError(topic_config)


def _number(values: Values, name: str) -> int:
    value = values(name)
    assert isinstance(value, int), name
    return value


def _unfit(reason: str) -> ConfigError:
    return ConfigError(f"requirement failed: {reason}")
