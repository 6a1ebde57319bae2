"""The proof of exactly once: pipelines, killed brokers, killed and fenced producers, one strict
reader.

`make prove` runs `__main__.py` for 20 minutes; a scenario runs it for two.
"""
