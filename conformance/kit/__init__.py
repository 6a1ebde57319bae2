"""The testing kit measured, and held to what it promises over many repetitions.

`make kit` prints the figures of docs/testing.md: a reset beside many topics and bytes, a new
cluster, a snapshot, a jump in time, a wait, the spy, the control port. `make kit-races` has a
condition come true at a random moment around a wait, RACES=100000 times, and resets a cluster
under load, RESETS=10000 times. `make kit-schema` sends the control port what schemathesis makes of
its OpenAPI.

Others judge it, too: faulting_proxy.py does on the wire in front of Apache Kafka what a fault does
here, dissector.py has tshark read what the spy has seen, and generated.py has OpenAPI Generator
make a client.
"""
