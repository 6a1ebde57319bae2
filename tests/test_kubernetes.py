"""The example for Kubernetes: valid by its schemas, and its settings mean what they should."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from kafkalite.config import BROKER_CONFIGS, BrokerConfig
from kafkalite.config.quorum import quorum_config

EXAMPLE = Path(__file__).parent.parent / "examples" / "kubernetes"
VERSION = "1.34"
Resource = dict[str, Any]


def resources() -> list[Resource]:
    return [
        each
        for file in sorted(EXAMPLE.glob("*.yaml"))
        for each in yaml.safe_load_all(file.read_text())
    ]


def named(kind: str, name: str) -> Resource:
    (found,) = [
        each for each in resources() if (each["kind"], each["metadata"]["name"]) == (kind, name)
    ]
    return found


def container(name: str) -> Resource:
    (found,) = named("StatefulSet", name)["spec"]["template"]["spec"]["containers"]
    return dict(found)


def environment(name: str) -> dict[str, str]:
    """The first pod's, with what its shell exports."""
    one = container(name)
    made = {each["name"]: each["value"] for each in one["env"]}
    for variable, value in re.findall(r"(KAFKA_\w+)=(\$\(\(.*?\)\)|\S+)", one["command"][-1]):
        number = re.fullmatch(r"\$\(\((\d+) \+ \$\{HOSTNAME##\*-\}\)\)", value)
        made[variable] = number[1] if number else value.replace("$HOSTNAME", f"{name}-0")
    return made


@pytest.mark.parametrize(
    "resource", resources(), ids=lambda each: f"{each['kind']}-{each['metadata']['name']}"
)
def test_each_resource_is_valid(resource: Resource) -> None:
    kubernetes_validate.validate(resource, VERSION, strict=True)


def test_a_field_that_is_not_there_is_found() -> None:
    resource = copy.deepcopy(named("StatefulSet", "kafkalite"))
    (one,) = resource["spec"]["template"]["spec"]["containers"]
    one["readynessProbe"] = one.pop("readinessProbe")
    with pytest.raises(kubernetes_validate.ValidationError, match="readynessProbe"):
        kubernetes_validate.validate(resource, VERSION, strict=True)


def test_brokers_find_the_controllers_and_each_other() -> None:
    config = BrokerConfig.from_sources(environment=environment("kafkalite"))
    quorum = quorum_config(config)
    count = named("StatefulSet", "controller")["spec"]["replicas"]
    service = named("Service", "controller")
    assert [each.host for each in quorum.addresses] == [
        f"controller-{number}.{service['metadata']['name']}" for number in range(count)
    ]
    assert {each.port for each in quorum.addresses} == {service["spec"]["ports"][0]["port"]}
    (listener,) = config.advertised_listeners(config.node_id)
    own = named("Service", named("StatefulSet", "kafkalite")["spec"]["serviceName"])
    assert listener.host == f"kafkalite-0.{own['metadata']['name']}"
    assert listener.port in {each["port"] for each in own["spec"]["ports"]}


def test_controllers_and_brokers_are_of_one_cluster() -> None:
    controllers, brokers = environment("controller"), environment("kafkalite")
    for name in ("CLUSTER_ID", "KAFKA_CONTROLLER_QUORUM_VOTERS"):
        assert controllers[name] == brokers[name]
    first = controllers["KAFKA_CONTROLLER_QUORUM_VOTERS"].partition("@")[0]
    assert first == controllers["KAFKA_NODE_ID"]
    known = controllers.keys() - {"CLUSTER_ID", "KAFKA_HEAP_OPTS"}
    assert {each.removeprefix("KAFKA_").replace("_", ".").lower() for each in known} <= (
        BROKER_CONFIGS.keys()
    )


def test_services_and_volumes_fit_their_pods() -> None:
    for name in ("controller", "kafkalite"):
        spec = named("StatefulSet", name)["spec"]
        labels = spec["template"]["metadata"]["labels"]
        assert spec["selector"]["matchLabels"] == labels
        assert named("Service", spec["serviceName"])["spec"]["selector"] == labels
        (mount,) = container(name)["volumeMounts"]
        assert environment(name)["KAFKA_LOG_DIRS"].startswith(mount["mountPath"])


def test_probes_ask_where_the_metrics_are() -> None:
    one = container("kafkalite")
    ports = {each["name"]: each["containerPort"] for each in one["ports"]}
    assert f"--metrics-port {ports['metrics']}" in one["command"][-1]
    probes = {name: one[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")}
    assert {each["port"] for each in probes.values()} == {"metrics"}
    assert [each["path"] for each in probes.values()] == ["/ready", "/ready", "/health"]
