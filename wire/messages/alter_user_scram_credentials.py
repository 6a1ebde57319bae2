"""AlterUserScramCredentials (key 51), version 0, flexible since 0.

Sets and deletes SCRAM credentials (KIP-554).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import bytes_, int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, request, response, struct


@struct
class ScramCredentialDeletion:
    name: str = field(string)
    mechanism: int = field(int8)


@struct
class ScramCredentialUpsertion:
    name: str = field(string)
    mechanism: int = field(int8)
    iterations: int = field(int32)
    salt: bytes = field(bytes_, sensitive=True)
    salted_password: bytes = field(bytes_, sensitive=True)


@request(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsRequest:
    deletions: list[ScramCredentialDeletion] = array(ScramCredentialDeletion)
    upsertions: list[ScramCredentialUpsertion] = array(ScramCredentialUpsertion)


@struct
class AlterUserScramCredentialsResult:
    user: str = field(string)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")


@response(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class AlterUserScramCredentialsResponse:
    throttle_time_ms: int = field(int32)
    results: list[AlterUserScramCredentialsResult] = array(AlterUserScramCredentialsResult)
