"""The properties of a cluster whose brokers and controllers trust no network.

Controllers are reached by SASL_SSL with PLAIN, brokers reach each other by SASL_SSL with SCRAM and
a client's certificate. Clients have a plaintext listener of their own. ACLs are on: only the nodes'
own user may do what nodes do.
"""

from pathlib import Path

from conformance.harness.ports import free_ports
from kafkalite.security.quick_start import make_files

USER, PASSWORD, MECHANISM = "node", "node-secret", "SCRAM-SHA-512"
# For kafka-storage format of a controller: brokers log in before anyone could create their user.
FORMAT_FLAGS = (f"--add-scram={MECHANISM}=[name={USER},password={PASSWORD}]",)
_PACKAGE = "org.apache.kafka.common.security"
_LOGIN = f'username="{USER}" password="{PASSWORD}"'


class SecuredQuorum:
    """Certificates in a directory, and a second port for each broker."""

    def __init__(self, directory: Path, brokers: list[int]) -> None:
        self._files = make_files(directory, "127.0.0.1")
        self._ports = dict(zip(brokers, free_ports(len(brokers)), strict=True))

    def properties(self, node_id: int) -> dict[str, str]:
        """A node's, over those of a cluster that speaks plaintext."""
        plain = f'{_PACKAGE}.plain.PlainLoginModule required {_LOGIN} user_{USER}="{PASSWORD}";'
        everything = {
            "listener.security.protocol.map": (
                "CONTROLLER:SASL_SSL,INTERNAL:SASL_SSL,PLAINTEXT:PLAINTEXT"
            ),
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.controller.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.controller.plain.sasl.jaas.config": plain,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self._files.server),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._files.ca),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": f"User:{USER}",
            "allow.everyone.if.no.acl.found": "true",
        }
        if node_id in self._ports:
            module = f"{_PACKAGE}.scram.ScramLoginModule"
            everything |= {
                "inter.broker.listener.name": "INTERNAL",
                "sasl.mechanism.inter.broker.protocol": MECHANISM,
                "listener.name.internal.sasl.enabled.mechanisms": MECHANISM,
                f"listener.name.internal.{MECHANISM.lower()}.sasl.jaas.config": (
                    f"{module} required {_LOGIN};"
                ),
                "listener.name.internal.ssl.client.auth": "required",
            }
        return everything

    def listener(self, node_id: int) -> str:
        """The listener of a broker for brokers."""
        return f"INTERNAL://127.0.0.1:{self._ports[node_id]}"
