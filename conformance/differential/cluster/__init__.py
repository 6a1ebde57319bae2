"""Three nodes: what passes between clients and nodes, asked of the right node and of the wrong
ones.

Three processes of Apache Kafka against one kafkalite that presents three nodes. What is random in
Apache Kafka is chosen here: topics get their replicas by hand, the internal ones too (../ready.py).
"""
