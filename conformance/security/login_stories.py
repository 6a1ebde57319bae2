"""Stories about logins: delegation tokens that are made, renewed and ended, also by the clock, and
SCRAM users that come and go, while connections of theirs are open.

Each step that ends something by the clock is over on both sides before the next begins.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from conformance.differential.broker_side import Side
from conformance.differential.comparison import Pair
from conformance.differential.generated_requests.telling import tell_steps
from conformance.security.conversations import DIGESTS, ITERATIONS, SALT, held, salted, scram
from conformance.security.pair import Client, Secured, logged_in
from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.codec import decode_response
from kafkalite.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kafkalite.wire.messages.create_delegation_token import (
    CreatableRenewers,
    CreateDelegationTokenRequest,
)
from kafkalite.wire.messages.describe_delegation_token import (
    DescribeDelegationTokenOwner,
    DescribeDelegationTokenRequest,
)
from kafkalite.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)
from kafkalite.wire.messages.expire_delegation_token import (
    ExpireDelegationTokenRequest,
    ExpireDelegationTokenResponse,
)
from kafkalite.wire.messages.metadata import MetadataRequest
from kafkalite.wire.messages.renew_delegation_token import (
    RenewDelegationTokenRequest,
    RenewDelegationTokenResponse,
)
from kafkalite.wire.schema import message_of

USERS = ("root", "alice", "bob")
PASSWORD_USERS = ("carol", "dave")
MECHANISMS = tuple(DIGESTS)
BRIEF_MS = 300
BRIEF_SECONDS = 0.6
SESSION_MS = 1500
AN_HOUR_MS = 3_600_000
LONGEST = 2**63 - 1
_A_MINUTE_MS = 60_000


@dataclass
class Logins:
    """Both brokers, connections to them by name, and the tokens of each in the order in which they
    were made.

    `waiting` are sides of theirs for the super user, without the address for SASL.
    """

    pair: Pair
    brokers: Sequence[Secured]
    waiting: Sequence[Side]
    clients: list[dict[str, Client]] = field(default_factory=lambda: [{}, {}])
    tokens: list[dict[int, Any]] = field(default_factory=lambda: [{}, {}])

    def tell(self, story: Sequence[Step]) -> None:
        """Raises Difference."""
        try:
            tell_steps(story, lambda step: step.tell(self))
        finally:
            self.close()

    def close(self) -> None:
        """Leave no token and no user for the next story."""
        for number, broker in enumerate(self.brokers):
            for client in self.clients[number].values():
                client.socket.close()
            self.clients[number].clear()
            with logged_in(broker.address(), "root") as root:
                for token in root.ask(DescribeDelegationTokenRequest(owners=None)).tokens:
                    with logged_in(broker.address(), token.principal_name) as owner:
                        owner.ask(ExpireDelegationTokenRequest(token.hmac, -1))
            self.tokens[number].clear()
        for user in PASSWORD_USERS:
            for mechanism in MECHANISMS:
                self.change(_taken(user, mechanism), is_compared=False)

    def change(self, request: Any, *, is_compared: bool = True) -> None:
        """A request of the super user, and what follows it."""
        answers = [
            each.ask(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, request, "own")
            for each in self.waiting
        ]
        if is_compared:
            self.compare(request, answers)
        self.settle()

    def settle(self) -> None:
        for side in self.waiting:
            side.settle()

    def ask(self, name: str, request: Any) -> list[Any]:
        """The same request of the same connection, which is that of a user if it has a name of one.

        With a function the request is made for each broker.
        """
        answers: list[Any] = []
        made: Any = None
        for number in range(2):
            made = request(number) if callable(request) else request
            answers.append(None)
            client = self._client(number, name)
            if client is not None:
                answers[-1] = client.ask(made)
                if answers[-1] is None:
                    self.clients[number].pop(name).socket.close()
        self.compare(made, [_without_time(each) for each in answers])
        return answers

    def compare(self, request: Any, answers: Sequence[Any]) -> None:
        message = message_of(type(request))
        what = f"{message.key.name} v{message.max_version}"
        self.pair.compare(what, *answers, api=message.key, version=message.max_version)

    def compare_times(self, what: str, times: Sequence[int]) -> None:
        """Times to come, in minutes."""
        now_ms = int(time.time() * 1000)
        self.pair.compare(what, *(round((each - now_ms) / _A_MINUTE_MS) for each in times))

    def _client(self, number: int, name: str) -> Client | None:
        found = self.clients[number].get(name)
        if found is None and name in USERS:
            found = self.clients[number][name] = logged_in(self.brokers[number].address(), name)
        return found

    def log_in(self, name: str, said: Sequence[Any]) -> None:
        """A connection of that name, if the conversations succeed."""
        answers: list[Any] = []
        for number, conversation in enumerate(said):
            if name in self.clients[number]:
                self.clients[number].pop(name).socket.close()
            client = Client(self.brokers[number].address())
            frame = held(client, conversation())
            answer = None
            if frame is not None:
                answer = decode_response(ApiKey.SASL_AUTHENTICATE, 2, frame)[1]
            if answer is None or answer.error_code:
                client.socket.close()
            else:
                self.clients[number][name] = client
            has_end = answer is not None and answer.session_lifetime_ms > 0
            answers.append(answer and (answer.error_code, answer.error_message, has_end))
        self.pair.compare("login", *answers)


def _without_time(answer: Any) -> Any:
    """Without the time when a token ends, which is compared by itself."""
    if isinstance(answer, RenewDelegationTokenResponse | ExpireDelegationTokenResponse):
        return replace(answer, expiry_timestamp_ms=min(answer.expiry_timestamp_ms, 0))
    return answer


class Step:
    """A step of a story; its repr is how the story is written down."""

    def tell(self, logins: Logins) -> None:
        raise NotImplementedError


@dataclass(frozen=True)
class Make(Step):
    """A token, of oneself or of another."""

    user: str
    slot: int
    owner: str
    renewers: tuple[str, ...]
    lifetime_ms: int

    def tell(self, logins: Logins) -> None:
        request = CreateDelegationTokenRequest(
            owner_principal_type="User" if self.owner else "",
            owner_principal_name=self.owner,
            renewers=[CreatableRenewers("User", each) for each in self.renewers],
            max_lifetime_ms=self.lifetime_ms,
        )
        answers = logins.ask(self.user, request)
        logins.settle()
        if all(answer is not None and not answer.error_code for answer in answers):
            logins.compare_times("max", [answer.max_timestamp_ms for answer in answers])
            logins.compare_times("expiry", [answer.expiry_timestamp_ms for answer in answers])
            for number, answer in enumerate(answers):
                logins.tokens[number][self.slot] = answer
        pause(self.lifetime_ms)


@dataclass(frozen=True)
class Prolong(Step):
    """A token is renewed, or made to end."""

    user: str
    slot: int
    period_ms: int
    is_end: bool

    def tell(self, logins: Logins) -> None:
        def made(number: int) -> Any:
            kind = ExpireDelegationTokenRequest if self.is_end else RenewDelegationTokenRequest
            token = logins.tokens[number].get(self.slot)
            return kind(token.hmac if token else b"none", self.period_ms)

        answers = logins.ask(self.user, made)
        logins.settle()
        if all(answer is not None and not answer.error_code for answer in answers):
            logins.compare_times("expiry", [each.expiry_timestamp_ms for each in answers])
        pause(self.period_ms)


@dataclass(frozen=True)
class Tokens(Step):
    """The tokens that a user may see."""

    user: str
    owners: tuple[str, ...] | None

    def tell(self, logins: Logins) -> None:
        owners = self.owners and [DescribeDelegationTokenOwner("User", o) for o in self.owners]
        answers = logins.ask(self.user, DescribeDelegationTokenRequest(owners=owners))
        if None not in answers:
            seen = [sorted(self._told(each) for each in answer.tokens) for answer in answers]
            logins.pair.compare("tokens", *seen)

    def _told(self, token: Any) -> Any:
        now_ms = int(time.time() * 1000)
        times = (token.expiry_timestamp, token.max_timestamp)
        minutes = [round((each - now_ms) / _A_MINUTE_MS) for each in times]
        renewers = sorted(each.principal_name for each in token.renewers)
        return [token.principal_name, token.token_requester_principal_name, renewers, minutes]


@dataclass(frozen=True)
class ByToken(Step):
    """A connection by a token. Each token has one."""

    slot: int
    mechanism: str
    is_wrong: bool

    def tell(self, logins: Logins) -> None:
        if self.slot in logins.tokens[0]:
            logins.log_in(f"token {self.slot}", [self._said(each) for each in logins.tokens])

    def _said(self, tokens: dict[int, Any]) -> Any:
        token = tokens[self.slot]
        password = "wrong" if self.is_wrong else base64.b64encode(token.hmac).decode()
        return scram(self.mechanism, password, user=token.token_id, extension=",tokenauth=true")


@dataclass(frozen=True)
class Session(Step):
    """A connection by a token that ends while it is open."""

    user: str
    slot: int

    def tell(self, logins: Logins) -> None:
        Make(self.user, self.slot, "", (), SESSION_MS).tell(logins)
        ByToken(self.slot, MECHANISMS[1], is_wrong=False).tell(logins)
        use = Use(f"token {self.slot}", "metadata")
        use.tell(logins)
        time.sleep(SESSION_MS / 1000 + 0.2)
        use.tell(logins)


@dataclass(frozen=True)
class Give(Step):
    """A user gets a password, another one perhaps."""

    user: str
    mechanism: str
    password: str

    def tell(self, logins: Logins) -> None:
        hashed = salted(self.mechanism, self.password)
        kind = MECHANISMS.index(self.mechanism) + 1
        wanted = ScramCredentialUpsertion(self.user, kind, ITERATIONS, SALT, hashed)
        logins.change(AlterUserScramCredentialsRequest(upsertions=[wanted]))


@dataclass(frozen=True)
class Take(Step):
    """The user is there no more; connections stay."""

    user: str
    mechanism: str

    def tell(self, logins: Logins) -> None:
        logins.change(_taken(self.user, self.mechanism))


@dataclass(frozen=True)
class ByPassword(Step):
    user: str
    mechanism: str
    password: str

    def tell(self, logins: Logins) -> None:
        said = scram(self.mechanism, self.password, user=self.user)
        logins.log_in(self.user, [said, said])


@dataclass(frozen=True)
class Use(Step):
    """A request on a connection that may be there."""

    name: str
    request: str

    def tell(self, logins: Logins) -> None:
        if self.name in logins.clients[0] or self.name in USERS:
            logins.ask(self.name, USES[self.request])


USES: dict[str, Any] = {
    "metadata": MetadataRequest(topics=[]),
    "make a token": CreateDelegationTokenRequest(max_lifetime_ms=-1),
    "tokens": DescribeDelegationTokenRequest(owners=None),
    "users": DescribeUserScramCredentialsRequest(users=[UserName(each) for each in PASSWORD_USERS]),
}


def _taken(user: str, mechanism: str) -> AlterUserScramCredentialsRequest:
    deletion = ScramCredentialDeletion(user, MECHANISMS.index(mechanism) + 1)
    return AlterUserScramCredentialsRequest(deletions=[deletion])


def pause(period_ms: int) -> None:
    """Until what ends soon has ended."""
    if 0 <= period_ms <= BRIEF_MS:
        time.sleep(BRIEF_SECONDS)


_user, _slot = st.sampled_from(USERS), st.integers(0, 2)
_mechanism, _password = st.sampled_from(MECHANISMS), st.sampled_from(("one", "two"))
_carol = st.sampled_from(PASSWORD_USERS)
_made = st.builds(
    Make,
    _user,
    _slot,
    st.sampled_from(("", "", "", "alice", "bob")),
    st.lists(st.sampled_from(USERS), max_size=2).map(tuple),
    st.sampled_from((-1, -1, AN_HOUR_MS, BRIEF_MS, 0, LONGEST)),
)
_prolonged = st.builds(
    Prolong,
    _user,
    _slot,
    st.sampled_from((-1, AN_HOUR_MS, 2 * AN_HOUR_MS, BRIEF_MS, 0, LONGEST, -5)),
    st.booleans(),
)
STEPS = (
    *[_made] * 4,
    *[_prolonged] * 4,
    *[st.builds(Tokens, _user, st.sampled_from((None, None, ("alice",), ("bob", "root"), ())))] * 2,
    *[st.builds(ByToken, _slot, _mechanism, st.sampled_from((False, False, False, True)))] * 3,
    st.builds(Session, _user, _slot),
    *[st.builds(Give, _carol, _mechanism, _password)] * 3,
    *[st.builds(Take, _carol, _mechanism)] * 2,
    *[st.builds(ByPassword, _carol, _mechanism, _password)] * 3,
    *[
        st.builds(
            Use,
            st.sampled_from(("token 0", "token 1", "token 2", *PASSWORD_USERS, *USERS)),
            st.sampled_from(list(USES)),
        )
    ]
    * 4,
)
STORIES = st.lists(st.one_of(*STEPS), min_size=15, max_size=40)
