"""DescribeUserScramCredentials (key 50), version 0, flexible since 0.

Which SCRAM mechanisms users have credentials for (KIP-554).
"""

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int8, int16, int32, nullable_string, string
from kafkalite.wire.schema import array, field, nullable_array, request, response, struct


@struct
class UserName:
    name: str = field(string)


@request(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsRequest:
    users: list[UserName] | None = nullable_array(UserName, default=[])


@struct
class CredentialInfo:
    mechanism: int = field(int8)
    iterations: int = field(int32)


@struct
class DescribeUserScramCredentialsResult:
    user: str = field(string)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    credential_infos: list[CredentialInfo] = array(CredentialInfo)


@response(ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS, versions=(0, 0), flexible=0)
class DescribeUserScramCredentialsResponse:
    throttle_time_ms: int = field(int32)
    error_code: int = field(int16)
    error_message: str | None = field(nullable_string, default="")
    results: list[DescribeUserScramCredentialsResult] = array(DescribeUserScramCredentialsResult)
