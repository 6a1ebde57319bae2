"""Says what the verbs do: plain functions of a cluster and a request. verbs.py lists them."""
