"""Kafka's protocol as values: bytes in, typed messages out, and back.

Other rooms use:

    codec          decode_request, encode_response (and the other direction)
    api_keys       ApiKey
    api_codec      the codec of one API in one version, for the broker
    errors         ErrorCode, KafkaError, ProtocolViolation
    messages       one module per API, one per record type
    record_batch   record batches

Nothing is imported here, so that each part costs only those who use it.
"""
