"""Envelope (key 58), version 0, flexible since 0.

A broker forwards a client's request to the active controller, header and body as they came
(KIP-590).
The principal is a DefaultPrincipalData with its version before it; the address has 4 or 16 bytes.
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int16, nullable_bytes
from kafkalite.wire.schema import field, request, response


@request(ApiKey.ENVELOPE, versions=(0, 0), flexible=0)
class EnvelopeRequest:
    request_data: bytes = field(bytes_, sensitive=True)
    request_principal: bytes | None = field(nullable_bytes, default=b"")
    client_host_address: bytes = field(bytes_)


@response(ApiKey.ENVELOPE, versions=(0, 0), flexible=0)
class EnvelopeResponse:
    response_data: bytes | None = field(nullable_bytes, sensitive=True)
    error_code: int = field(int16)
