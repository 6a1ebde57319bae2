"""One record, whole, and decoded by its schema."""

from __future__ import annotations

import trio

from kafkalite.control.answers import DecodedView, ShownRecord
from kafkalite.control.cluster import ControlledCluster
from kafkalite.control.problems import Problem, not_found
from kafkalite.control.questions import RecordPlace
from kafkalite.control.record_reading import records_of, size_of, view
from kafkalite.control.views import partition_of
from kafkalite.wire.record_batch import Record

REGISTRY = "kafkalite.schema.registry.url"


async def show_record(cluster: ControlledCluster, request: RecordPlace) -> ShownRecord:
    """One record; decoded, if kafkalite.schema.registry.url is set and it names a schema there."""
    partition = partition_of(cluster.broker, request.topic, request.partition)
    record = next(records_of(partition, request.offset), None)
    if record is None or record.offset != request.offset:
        raise not_found("record", f"{request.topic}-{request.partition} @ {request.offset}")
    url = cluster.broker.config.string(REGISTRY)
    key = value = None
    if url is not None:
        key, value = await trio.to_thread.run_sync(_decoded, url, record)
    plain = view(partition.index, record)
    return ShownRecord(
        **{name: getattr(plain, name) for name in plain.__struct_fields__},
        size_bytes=size_of(record),
        key_decoded=key,
        value_decoded=value,
    )


def _decoded(url: str, record: Record) -> tuple[DecodedView | None, DecodedView | None]:
    """Key and value by their schemas, in a thread. Raises Problem."""
    from kafkalite.schemas.decoding import decoder_of

    try:
        decoder = decoder_of(url)
    except ValueError as error:
        raise Problem("invalid_config", f"{REGISTRY}: {error}") from None
    found: list[DecodedView | None] = []
    for data in (record.key, record.value):
        told = decoder.decode(None if data is None else bytes(data))
        found.append(
            None
            if told is None
            else DecodedView(told.schema_id, told.kind, told.name, told.value, told.problem)
        )
    return found[0], found[1]
