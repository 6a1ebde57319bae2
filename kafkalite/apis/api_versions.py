"""ApiVersions (key 18), versions 0-4: what may be asked here, and which features are on.

Every client asks this first, and librdkafka, kafka-python and others conclude from it which release
they talk to. The response is derived from the API table, so that it promises nothing more.

- v1 adds the throttle time.
- v3 is flexible, and adds the client's software name and the features (KIP-584). The response
  header never is flexible, so that a client can read the answer before it knows anything.
- v4 may report supported features that start at level 0 (KAFKA-17492).
- A version above ours is answered in version 0 with UNSUPPORTED_VERSION and the range of this one
  API, so that the client can ask again on the same connection (KIP-511).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkalite.apis import APIS, apis_of
from kafkalite.cluster.features import of_served
from kafkalite.requests.context import RequestContext
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.errors import ErrorCode
from kafkalite.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from kafkalite.services import Services

# ApiVersionsRequest.java: what a software name and version may look like.
_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


def handle(
    services: Services, context: RequestContext, request: ApiVersionsRequest
) -> ApiVersionsResponse:
    if context.api_version >= 3 and not _named_well(request):
        return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
    if context.api_version >= 3:
        context.client_software = request.client_software_name, request.client_software_version
    cluster, apis = services.cluster, apis_of(services.config.release)
    return ApiVersionsResponse(
        api_keys=[
            ApiVersion(
                api_key=api.key,
                min_version=api.advertised_min_version,
                max_version=api.max_version,
            )
            for api in sorted(apis.values(), key=lambda api: api.key)
            if not api.offered_by or services.config.boolean(api.offered_by)
        ],
        supported_features=[
            SupportedFeatureKey(name=name, min_version=minimum, max_version=maximum)
            for name, (minimum, maximum) in of_served(cluster.supported_features, apis).items()
            if minimum > 0 or context.api_version >= 4
        ],
        finalized_features_epoch=cluster.epoch,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in of_served(cluster.features, apis).items()
            if level > 0
        ],
    )


def unsupported_version() -> ApiVersionsResponse:
    """The answer, in version 0, to a version of this API that is not served."""
    api = APIS[ApiKey.API_VERSIONS]
    return ApiVersionsResponse(
        error_code=ErrorCode.UNSUPPORTED_VERSION,
        api_keys=[
            ApiVersion(api_key=api.key, min_version=api.min_version, max_version=api.max_version)
        ],
    )


def _named_well(request: ApiVersionsRequest) -> bool:
    return bool(
        _SOFTWARE.fullmatch(request.client_software_name)
        and _SOFTWARE.fullmatch(request.client_software_version)
    )
