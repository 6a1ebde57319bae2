"""Recordings of real clients with Apache Kafka: a file of requests and answers for each client.

`python -m conformance.differential.recordings [CLIENT ...]` makes the files: it starts Apache
Kafka, has the client (clients.py) do its work through a recording proxy, and keeps what has passed
(files.py). ../replay.py asks both brokers the same again.
"""
