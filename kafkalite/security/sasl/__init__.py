"""SASL mechanisms, each a state table without I/O, and what they look credentials up in."""
