"""`kafkalite configs --broker-logger` and `--broker-defaults`."""

from __future__ import annotations

import logging

import kafkalite.testing
from kafkalite.cluster.broker_loggers import request_logger
from tests.kafkalite.terminal.conftest import Run
from tests.kafkalite.terminal.test_configs import configs


def test_the_levels_of_a_brokers_loggers(run: Run) -> None:
    of_logger, name = ("configs", "--broker-logger", "1", "--json"), "kafka.request.logger"
    before = configs(run(*of_logger))
    assert before["root"] == before[name] != "DEBUG"
    try:
        assert configs(run(*of_logger, "--add-config", f"{name}=DEBUG")) == {name: "DEBUG"}
        assert request_logger.isEnabledFor(logging.DEBUG)
        assert configs(run(*of_logger)) == before | {name: "DEBUG"}
        assert run(*of_logger[:-1]).lines[0] == ["NAME", "VALUE", "SOURCE"]
    finally:
        assert configs(run(*of_logger, "--delete-config", name)) == {name: before[name]}
    assert not request_logger.isEnabledFor(logging.DEBUG)


def test_the_defaults_of_all_brokers(run: Run) -> None:
    of_all, name = ("configs", "--broker-defaults", "--json"), "log.cleaner.threads"
    before = configs(run(*of_all))
    assert name not in before
    try:
        assert configs(run(*of_all, "--add-config", f"{name}=2")) == before | {name: "2"}
        assert ["log.cleaner.threads", "2", "DYNAMIC_DEFAULT_BROKER_CONFIG"] in run(
            *of_all[:-1]
        ).lines
        assert configs(run("configs", "--broker", "1", "--json"))[name] == "2"
    finally:
        assert configs(run(*of_all, "--delete-config", name)) == before
    ran = run(*of_all, "--add-config", "node.id=7")
    assert (ran.code, "defaults of all brokers: " in ran.error) == (1, True), ran.error


def test_a_hidden_value_of_the_defaults(run: Run) -> None:
    """Nobody knows what a config that Kafka does not know holds."""
    of_all = ("configs", "--broker-defaults", "--json")
    try:
        shown = run(*of_all, "--add-config", "plugin.password=geheim")
        assert configs(shown)["plugin.password"] == "(sensitive)"
        assert "geheim" not in shown.out + run("configs", "--broker-defaults").out
    finally:
        assert "plugin.password" not in configs(run(*of_all, "--delete-config", "plugin.password"))


def test_logins_are_those_of_the_groups(run: Run) -> None:
    with kafkalite.testing.broker(sasl="oauthbearer:alice:x", profile="test") as broker:
        settings = broker.client_settings["librdkafka"]
        said = [word for each in settings.items() for word in ("-X", "=".join(each))]
        of_logger = ("configs", "--broker-logger", "1", "-b", broker.bootstrap, *said)
        assert "kafka.request.logger" in run(*of_logger).out
        ran = run(*of_logger, "-X", "sasl.oauthbearer.config=principal=alice scope=all")
    wanted = "loggers of broker 1: scope of sasl.oauthbearer.config is for librdkafka alone"
    assert (ran.code, ran.error) == (1, f"kafkalite: {wanted}\n")
