"""Talking to other nodes as their client: controllers and brokers of the same cluster."""
