"""Requests nobody thought of: every API in every version, half-valid, over a small world.

A story is a list of requests in which names, ids and epochs stand as references (references.py).
What may stand in a field is said once per field name (vocabulary.py, by API where one needs its
own). A world (world.py) sends a story to both brokers, and lets each resolve the references as it
knows them.
"""
