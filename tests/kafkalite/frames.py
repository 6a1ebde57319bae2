"""Frames built by hand, and a request that every broker answers."""

from __future__ import annotations

from kafkalite.wire.messages.api_versions import ApiVersionsRequest

GOOD = ApiVersionsRequest(client_software_name="a-client", client_software_version="1.0")
