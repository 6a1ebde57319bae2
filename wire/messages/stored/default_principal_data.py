"""DefaultPrincipalData, the principal in an Envelope, version 0, flexible since 0.

An int16 version stands before it (Kafka's DefaultKafkaPrincipalBuilder).
"""

from kafkalite.wire.fields import boolean, string
from kafkalite.wire.schema import data, field


@data(versions=(0, 0), flexible=0)
class DefaultPrincipalData:
    type: str = field(string)
    name: str = field(string)
    token_authenticated: bool = field(boolean)
