"""Kafka's protocol as values: bytes in, typed messages out, and back.

What other rooms use:

    codec      decode_request, encode_response (and the other direction)
    api_keys   ApiKey
    errors     ErrorCode, KafkaError, ProtocolViolation
    messages   one module per API, one per record type
    records    record batches

Nothing is imported here, so that each part costs only those who use it.
"""
