"""EndTxn (key 26), versions 0-5: commit or abort (KIP-98).

v2 knows PRODUCER_FENCED. v5 is that of transactions v2 (KIP-890): the answer has the producer id
and epoch to go on with. By the time it is sent, every partition has its marker, unless one has no
leader, or there are very many.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkalite.coordinators.transaction_coordinator.coordinator import Producer
from kafkalite.coordinators.transaction_coordinator.transaction import (
    VERSION_1,
    VERSION_2,
    code_of,
)
from kafkalite.requests.context import RequestContext
from kafkalite.wire.api_keys import END_TXN_OF_V2_SINCE
from kafkalite.wire.errors import ErrorCode, KafkaError
from kafkalite.wire.messages.end_txn import EndTxnRequestRow, EndTxnResponseRow
from kafkalite.wire.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID

if TYPE_CHECKING:
    from kafkalite.services import Services


def handle(
    services: Services, context: RequestContext, request: EndTxnRequestRow
) -> EndTxnResponseRow:
    transactional_id, producer_id, producer_epoch, is_commit = request
    version = VERSION_2 if context.api_version >= END_TXN_OF_V2_SINCE else VERSION_1
    try:
        producer_id, producer_epoch = services.transaction_coordinator.end(
            Producer(transactional_id, producer_id, producer_epoch),
            context.node_id,
            commit=is_commit,
            client_version=version,
        )
    except KafkaError as error:
        return 0, code_of(error, context), NO_PRODUCER_ID, NO_PRODUCER_EPOCH
    return 0, ErrorCode.NONE, producer_id, producer_epoch
