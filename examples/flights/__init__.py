"""A Spark job on real data: a year of flights through Kafka, checked row by row.

`python -m examples.flights` runs it all. To read it, go through the modules in this order:

1. `data`      the flights, and the same figures by pandas alone
2. `produce`   an ordinary Kafka client fills a topic
3. `job`       an ordinary PySpark Structured Streaming job; nothing in it knows kafkalite
4. `check`     what the job wrote, read back and compared
5. `picture`   one PNG of it
6. `__main__`  starts a broker, runs 1 to 5, says how long each took
"""
