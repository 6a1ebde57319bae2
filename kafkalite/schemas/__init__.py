"""Decodes keys and values that name a schema of a schema registry: Avro, Protobuf, JSON Schema.

The libraries come with the extra `schemas`, and are imported when a value needs them.
"""
