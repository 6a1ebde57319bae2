"""The configs that a group has for itself, as they are read: without blanks, in plain digits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkalite.config import GROUP_CONFIGS
from kafkalite.config.definition import format_value
from kafkalite.wire.api_keys import GROUP_RESOURCE

_NONE: Final[Mapping[str, str]] = {}


def group_configs(
    configs: Mapping[tuple[int, str], Mapping[str, str]], group_id: str
) -> Mapping[str, str]:
    """A group's own among the `configs` of all resources."""
    own = configs.get((GROUP_RESOURCE, group_id))
    if not own:  # of nearly every group, at each heartbeat
        return _NONE
    return {
        name: format_value(GROUP_CONFIGS[name].parse(text)) or ""
        for name, text in own.items()
        if name in GROUP_CONFIGS
    }
