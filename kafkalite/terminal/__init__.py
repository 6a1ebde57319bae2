"""The verbs for the terminal: a look into any Kafka, by its own protocol.

    kafkalite topics                        kafkalite topic show orders
    kafkalite tail orders -n 5 --follow     kafkalite produce orders < lines
    kafkalite groups                        kafkalite group show billing
    kafkalite lag billing --watch           kafkalite configs --topic orders
    kafkalite acls                          kafkalite requests --follow
    kafkalite trace show trace.zip

words.py       the words, told apart from the verbs of the control port
command.py     the words put together, and mistakes as one sentence
options.py     the flags that every word takes
settings.py    -X and -F: settings of the client in librdkafka's and in Java's words
target.py      the broker that is meant, if it is not named
kafka.py       one Kafka, asked by librdkafka
output.py      tables for people, JSON for programs, bars while it takes long
offsets.py     the first and last offsets of partitions
topics.py, tail.py, produce.py, groups.py, lag.py, configs.py, loggers.py, acls.py, requests.py,
trace.py
completion.py  completion for bash, zsh and fish

Exit codes: 0 it is done, 1 it is not there or was refused, 2 a mistake in what was asked. The
libraries are those of the extra `terminal`. A broker imports nothing of this.
"""
