"""No password, key or token is shown, or kept in a file: of every message of every API.

Each message has a text of its own in every field that can hold one. What is shown of it, and what
files keep of it, is searched for them.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec
import pytest

from kafkalite.control.clock import ClusterClock
from kafkalite.control.faults.matching import Matcher, Missed, Seen
from kafkalite.control.faults.rule import When
from kafkalite.control.secrets import HIDDEN, is_config, may_hold_secrets, without_secrets
from kafkalite.control.spy.cluster_times import ClusterTimes
from kafkalite.control.spy.decoded import view_of
from kafkalite.control.spy.frames import answer_without_secrets, request_without_secrets
from kafkalite.control.spy.ring import Entry, Ring
from kafkalite.requests.names import class_of
from kafkalite.wire import messages
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.api_messages import request_class, response_class
from kafkalite.wire.codec import decode_request, encode_request, encode_response
from kafkalite.wire.fields import FieldType
from kafkalite.wire.messages import stored
from kafkalite.wire.schema import FIELDS, Shape, fields_of, message_of

TIMES = ClusterTimes()
TIMES.note(ClusterClock())
# By Kafka's names: the fields that are secrets wherever they are.
SECRETS = {
    "AlterUserScramCredentials": {"salt", "salted_password"},
    "CreateDelegationToken": {"hmac"},
    "DescribeDelegationToken": {"hmac"},
    "Envelope": {"request_data", "response_data"},
    "ExpireDelegationToken": {"hmac"},
    "RenewDelegationToken": {"hmac"},
    "SaslAuthenticate": {"auth_bytes"},
}
CONFIGS = {
    "AlterConfigs": {"AlterableConfig"},
    "CreateTopics": {"CreatableTopicConfig", "CreatableTopicConfigs"},
    "DescribeConfigs": {"DescribeConfigsResourceResult", "DescribeConfigsSynonym"},
    "IncrementalAlterConfigs": {"AlterableConfig"},
}
LOOKS_SECRET = re.compile(r"hmac|salt|passw|secret|credential$|auth_bytes|stored_key|server_key")


def known(key: ApiKey) -> bool:
    try:
        request_class(key)
    except KeyError:
        return False
    return True


APIS = [key for key in ApiKey if known(key)]


def structs() -> Iterator[type[Any]]:
    for package in (messages, stored):
        for module in pkgutil.iter_modules(package.__path__):
            found = importlib.import_module(f"{package.__name__}.{module.name}")
            yield from (
                each
                for each in vars(found).values()
                if hasattr(each, FIELDS) and each.__module__ == found.__name__
            )


class Filled:
    """Messages with a text of its own in each field, and which texts are in which field."""

    def __init__(self, config: str) -> None:
        self._config = config
        self._numbers = count(100)
        self.texts: dict[str, tuple[str, str]] = {}

    def message(self, class_: type[Any], version: int) -> Any:
        made = class_()
        for field in fields_of(class_):
            if field.is_in(version):
                setattr(made, field.name, self._value(class_, field, version))
        return made

    def _value(self, class_: type[Any], field: Any, version: int) -> Any:
        element = field.element
        if isinstance(element, type):
            value: Any = self.message(element, version)
        elif element.name in ("string", "bytes"):
            value = self._config
            if not (is_config(class_) and field.name == "name"):
                value = f"shibboleth-{next(self._numbers)}"
                self.texts[value] = (class_.__name__, field.name)
            value = value.encode() if element.name == "bytes" else value
        else:
            value = element.default
        return [value] if field.shape is Shape.ARRAY else value


def entry_of(key: ApiKey, version: int, request: Any, answer: Any) -> Entry:
    frame = joined(encode_request(key, version, 7, "app", request))[4:]
    ring = Ring()
    entry = ring.add(("10.0.0.1", 5), frame, len(frame))
    ring.ended(entry, "answered", (joined(encode_response(key, version, 7, answer)),))
    return entry


def joined(chunks: list[Any]) -> bytes:
    return b"".join(map(bytes, chunks))


def shown(entry: Entry, *, is_sound: bool = True) -> str:
    view = view_of(entry, lambda topic_id: None, TIMES, bodies=True)
    assert (view.undecodable is None) is is_sound, view.undecodable
    return msgspec.json.encode(view).decode()


def kept(entry: Entry) -> str:
    return (request_without_secrets(entry) + answer_without_secrets(entry)).decode("latin-1")


def near_miss(key: ApiKey, body: Any) -> str:
    """The words of a rule about a request whose fields are others than it wants."""
    fields = [each.name for each in fields_of(class_of(body))]
    told = ""
    for path in fields:
        missed = Matcher(When(api=key.message_name, request={path: "another"})).match(
            Seen(key, 0, body)
        )
        assert isinstance(missed, Missed)
        told += repr(missed.seen)
    return told


@pytest.mark.parametrize(
    ("key", "config"),
    [(each, "ssl.key.password") for each in APIS]
    + [
        (each, name)
        for each in APIS
        if each.message_name in CONFIGS
        for name in ("listener.name.a.ssl.keystore.key", "unknown.name")
    ],
)
def test_secrets_are_in_nothing_that_is_shown_or_kept(key: ApiKey, config: str) -> None:
    name = key.message_name
    declared = message_of(request_class(key))
    for version in range(declared.min_version, declared.max_version + 1):
        filled = Filled(config)
        request = filled.message(request_class(key), version)
        answer = filled.message(response_class(key), version)
        secret = {
            text
            for text, (struct, field) in filled.texts.items()
            if field in SECRETS.get(name, ())
            or (field == "value" and struct in CONFIGS.get(name, ()))
        }
        entry = entry_of(key, version, request, answer)
        said = {
            "view": shown(entry),
            "frames": kept(entry),
            "near miss": near_miss(key, decode_request(entry.frame).body),
        }
        for where, text in said.items():
            assert not {each for each in secret if each in text}, (where, version)
        assert {each for each in filled.texts if each not in said["view"]} == secret
        assert {each for each in filled.texts if each not in said["frames"]} == secret


def test_each_struct_that_looks_as_if_it_had_one_is_known() -> None:
    """A field of a new message that is named as a secret must be declared as one."""
    marked = {
        (each.__name__, field.name)
        for each in structs()
        for field in fields_of(each)
        if field.sensitive
    }
    named = {
        (each.__name__, field.name)
        for each in structs()
        for field in fields_of(each)
        if isinstance(field.element, FieldType)
        and field.element.name in ("string", "bytes")
        and LOOKS_SECRET.search(field.name)
    }
    assert named <= marked
    assert {field for _, field in marked - named} == {"request_data", "response_data"}
    configs = {each.__name__ for each in structs() if is_config(each)}
    assert configs == {*set().union(*CONFIGS.values()), "ConfigRecord"}


def test_a_representation_has_none() -> None:
    marked = [(each, field) for each in structs() for field in fields_of(each) if field.sensitive]
    for struct, field in marked:
        message = struct()
        setattr(message, field.name, b"shibboleth")
        assert f"{field.name}={HIDDEN}" in repr(message)
        assert "shibboleth" not in repr(message)
    assert len(marked) > len(SECRETS)


@pytest.mark.parametrize(
    ("resource_type", "name", "is_shown"),
    [
        *((4, name, True) for name in ("log.retention.ms", "listener.name.x.ssl.keystore.type")),
        *((4, name, False) for name in ("ssl.key.password", "sasl.jaas.config", "plugin.key")),
        *((2, name, True) for name in ("retention.ms", "cleanup.policy")),
        *((2, name, False) for name in ("retention.milliseconds",)),
        *((32, name, True) for name in ("consumer.session.timeout.ms",)),
        *((16, name, True) for name in ("interval.ms", "metrics")),
        *((8, name, True) for name in ("kafka.request.logger", "root")),
    ],
)
def test_configs_are_shown_unless_they_may_be_secret(
    resource_type: int, name: str, is_shown: bool
) -> None:
    class_ = request_class(ApiKey.INCREMENTAL_ALTER_CONFIGS)
    filled = Filled(name)
    request = filled.message(class_, 1)
    request.resources[0].resource_type = resource_type
    copy = without_secrets(request)
    assert (copy == request) is is_shown
    assert copy.resources[0].configs[0].value == (
        request.resources[0].configs[0].value if is_shown else HIDDEN
    )
    assert request.resources[0].configs[0].value != HIDDEN


def test_messages_without_secrets_are_not_copied() -> None:
    request = request_class(ApiKey.METADATA)()
    assert not may_hold_secrets(class_of(request))
    assert without_secrets(request) is request
