"""Responses that cannot be sent: a text in them is longer than a text may be.

A client's own words, nearly as long as that, come back in a message with more words around them.
Kafka answers that something unexpected went wrong, for all that was asked, though what was done
stays done. Source: KafkaApis.handle, whose errors in sending are those of the request.
"""

from __future__ import annotations

from typing import Any, Final

from kafkalite.apis import Api
from kafkalite.log.loggers import logger_of
from kafkalite.requests.context import RequestContext
from kafkalite.requests.refusals import refuse_in_steps
from kafkalite.requests.slices import Steps
from kafkalite.wire.api_messages import request_class
from kafkalite.wire.errors import ErrorCode, InvalidMessage
from kafkalite.wire.rows import message_of_row, rows_of

logger: Final = logger_of(__name__)


def sendable(api: Api, context: RequestContext, request: Any, error: InvalidMessage) -> Steps[Any]:
    """The response that is sent instead, as the API's handlers return it. None: nothing is."""
    logger.warning(
        "%s:%s: the response to %s cannot be sent: %s",
        context.client_host,
        context.client_port,
        api.key.name,
        error,
    )
    asked = message_of_row(request_class(api.key), request) if api.rows else request
    code = ErrorCode.UNKNOWN_SERVER_ERROR
    refusal = yield from refuse_in_steps(api.key, context.api_version, asked, code)
    return rows_of(refusal) if api.rows and refusal is not None else refusal
