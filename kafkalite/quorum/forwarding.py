"""Passes on what only a controller decides: the client's frame goes there in an Envelope.

The envelope carries the request's header and body, and brings back the answer's.
Source: ForwardingManager, EnvelopeUtils; KIP-590.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Final

from kafkalite.quorum.channel import ControllerChannel, NoController
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.envelope import EnvelopeRequest
from kafkalite.wire.messages.stored import encode
from kafkalite.wire.messages.stored.default_principal_data import DefaultPrincipalData

# ForwardingManager gives up after request.timeout.ms of the client's channel.
_TIMEOUT_SECONDS: Final = 60.0


class Forwarding:
    """Passes clients' requests on to the active controller."""

    def __init__(self, channel: ControllerChannel) -> None:
        self._channel = channel

    async def forward(
        self,
        frame: bytes | bytearray | memoryview,
        client_host: str,
        *,
        principal_type: str = "User",
        principal_name: str = "ANONYMOUS",
        token_authenticated: bool = False,
    ) -> bytes:
        """The answer's frame, without its length, as the controller made it.

        Raises KafkaError where there is none: UNSUPPORTED_VERSION, REQUEST_TIMED_OUT,
        UNKNOWN_SERVER_ERROR. The first closes the client's connection.
        """
        principal = DefaultPrincipalData(
            type=principal_type, name=principal_name, token_authenticated=token_authenticated
        )
        envelope = EnvelopeRequest(
            request_data=bytes(frame),
            request_principal=encode(principal),
            client_host_address=ip_address(client_host.partition("%")[0]).packed,
        )
        try:
            answer = await self._channel.ask(envelope, timeout_seconds=_TIMEOUT_SECONDS)
        except NoController:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT) from None
        data: bytes | None = answer.response_data
        if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
        if answer.error_code or data is None:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
        return data
