"""Configs of a node that it takes, or refuses, while it runs."""

from __future__ import annotations

import pytest

from kafkalite.cluster.node_config_validation import NodeConfigValidation
from kafkalite.config.definition import in_all_configs
from kafkalite.requests.slices import at_once
from kafkalite.wire.errors import ErrorCode, KafkaError
from tests.kafkalite.server.one_dispatcher import one_dispatcher


def refusal(name: str, configs: dict[str, str], *deleted: str) -> str | None:
    """The words for a node that would have `configs`. None: it takes them."""
    with one_dispatcher() as asked:
        validation = NodeConfigValidation(asked.services.cluster)
        try:
            at_once(validation.validate(name, configs, [*configs, *deleted]))
        except KafkaError as error:
            return error.message if error.code is ErrorCode.INVALID_REQUEST else repr(error)
    return None


@pytest.mark.parametrize("name", ["super.users", "allow.everyone.if.no.acl.found"])
def test_what_the_authorizer_reads_at_its_start_is_kept_unread(name: str) -> None:
    assert refusal("1", {name: "x"}) is None
    assert refusal("", {name: "x"}) is None


@pytest.mark.parametrize(
    "name", ["listeners", "listener.security.protocol.map", "client.quota.callback.class"]
)
def test_what_is_not_taken_may_be_deleted(name: str) -> None:
    assert refusal("1", {}, name) is None


def test_types_come_before_the_level_and_static_values_after_it() -> None:
    at_default = "Cannot update these configs at default cluster level, broker id must be "
    for name, words in (
        ("connections.max.reauth.ms", f"{at_default}specified: "),
        ("ssl.client.auth", "Invalid value x for configuration ssl.client.auth: "),
    ):
        said = refusal("", {f"listener.name.plaintext.{name}": "x"})
        assert said is not None
        assert words in said


@pytest.mark.parametrize("text", ["", " a.B "])
def test_a_class_that_is_not_there(text: str) -> None:
    assert refusal("1", {"principal.builder.class": text}) == (
        f"Invalid value {text} for configuration principal.builder.class: "
        f"Class {text} could not be found."
    )


def test_a_reporter_that_is_not_there() -> None:
    assert refusal("1", {"metric.reporters": "a.B"}) == in_all_configs(
        "Validation of dynamic config update of Set(metric.reporters) failed with class class "
        "kafka.server.DynamicMetricsReporters"
    )
    assert refusal("1", {"metric.reporters": ""}) is None


def test_values_that_do_not_fit_those_at_the_start() -> None:
    assert refusal("", {"log.retention.ms": "0"}) == (
        "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
    )


def test_cordoned_directories_are_read_as_a_list() -> None:
    assert refusal("1", {"cordoned.log.dirs": " * "}) is None
