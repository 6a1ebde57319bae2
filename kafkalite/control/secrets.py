"""Messages without their secrets: what people are shown, and what files keep for them.

A field is secret if its declaration says so (`sensitive`), and the value of a config by the
config's name. Which structs lead to one is found out once for each class.
"""

from __future__ import annotations

from typing import Any, Final

from kafkalite.config.sources import is_sensitive
from kafkalite.requests.names import class_of, listed
from kafkalite.wire.api_keys import BROKER_LOGGER_RESOURCE
from kafkalite.wire.fields import FieldType, string
from kafkalite.wire.schema import Field, fields_of

HIDDEN: Final = "[hidden]"
_HIDDEN_BYTES: Final = HIDDEN.encode()
# The fields of a struct that is a config, and of what the configs belong to.
_NAME, _VALUE, _RESOURCE_TYPE = "name", "value", "resource_type"

_plans: Final[dict[type[Any], tuple[Field, ...]]] = {}


def may_hold_secrets(class_: type[Any]) -> bool:
    """Tells whether a message of this class has a field, or a config, that may be a secret."""
    return bool(_leading_to_secrets(class_))


def is_config(class_: type[Any]) -> bool:
    """Tells whether a struct is a config: it has a name and a value, both text."""
    text = {each.name for each in fields_of(class_) if _is_text(each)}
    return {_NAME, _VALUE} <= text


def without_secrets(message: Any) -> Any:
    """The message, or a copy of it with `[hidden]` in the place of each secret.

    Levels of loggers are no secrets, though no table knows the loggers' names.
    """
    class_ = class_of(message)
    fields = _leading_to_secrets(class_)
    if not fields or getattr(message, _RESOURCE_TYPE, None) == BROKER_LOGGER_RESOURCE:
        return message
    copy = _copied(message)
    for field in fields:
        value = getattr(message, field.name)
        if value is None:
            continue
        if isinstance(field.element, FieldType):
            if field.sensitive or is_sensitive(message.name):
                setattr(copy, field.name, HIDDEN if isinstance(value, str) else _HIDDEN_BYTES)
            continue
        several = listed(value)
        inside = without_secrets(value) if several is None else list(map(without_secrets, several))
        setattr(copy, field.name, inside)
    return copy


def _leading_to_secrets(class_: type[Any]) -> tuple[Field, ...]:
    """The fields of a struct that may be secrets, or have them in them."""
    if class_ not in _plans:
        config = is_config(class_)
        _plans[class_] = tuple(
            each
            for each in fields_of(class_)
            if each.sensitive
            or (config and each.name == _VALUE)
            or (isinstance(each.element, type) and _leading_to_secrets(each.element))
        )
    return _plans[class_]


def _is_text(field: Field) -> bool:
    return isinstance(field.element, FieldType) and field.element.name == string.name


def _copied(message: Any) -> Any:
    class_ = class_of(message)
    copy = class_(**{each.name: getattr(message, each.name) for each in fields_of(class_)})
    copy.unknown_tagged_fields = message.unknown_tagged_fields
    return copy
