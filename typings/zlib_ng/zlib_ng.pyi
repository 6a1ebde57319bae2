# What is used of zlib-ng, with zlib's types: its own stub has none for the data.
from zlib import decompressobj as decompressobj

class error(Exception): ...
