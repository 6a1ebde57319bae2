"""Old and new versions of the clients: does each do the ordinary things here, as on Apache Kafka?

[matrix.py](matrix.py) lists them. [programs/](programs/) has one small program per client, which
runs on every version of it. [environments.py](environments.py) brings a version from its package
index, once. [kits.py](kits.py) builds the packages of the testing kit for other platforms.
"""
