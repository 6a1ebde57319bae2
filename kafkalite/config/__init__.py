"""Configs: the tables of what there is, the sources of values, and BrokerConfig that joins them."""

from kafkalite.config.broker_config import RACK_AWARE_SELECTOR, BrokerConfig
from kafkalite.config.definition import (
    BROKER_CONFIGS,
    CLIENT_METRICS_CONFIGS,
    GROUP_CONFIGS,
    TOPIC_CONFIG_SYNONYMS,
    TOPIC_CONFIGS,
    ConfigDef,
    ConfigError,
    ConfigType,
    ConfigValue,
    Support,
    format_value,
)
from kafkalite.config.listeners import Listener
from kafkalite.config.topic_validation import validate_topic_configs

__all__ = [
    "BROKER_CONFIGS",
    "CLIENT_METRICS_CONFIGS",
    "GROUP_CONFIGS",
    "RACK_AWARE_SELECTOR",
    "TOPIC_CONFIGS",
    "TOPIC_CONFIG_SYNONYMS",
    "BrokerConfig",
    "ConfigDef",
    "ConfigError",
    "ConfigType",
    "ConfigValue",
    "Listener",
    "Support",
    "format_value",
    "validate_topic_configs",
]
