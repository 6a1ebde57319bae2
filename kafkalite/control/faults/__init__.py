"""Faults as data: a rule says when, how often, and what happens to the request."""
