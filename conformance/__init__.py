"""Real clients against a started broker: kafkalite, or with `--broker kafka` Apache Kafka itself.

Not shipped. `harness/` finds Java, brings jars and starts brokers; every other folder holds tests.
"""
