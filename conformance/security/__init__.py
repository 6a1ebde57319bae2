"""Secured listeners on both brokers: the same logins, the same refusals."""
