"""JAAS lines and rules for principals mean what they mean to Apache Kafka, generated ones too."""

from __future__ import annotations

from random import Random

import pytest

from conformance.harness.referee import Referee, RefereeRefuses
from kafkalite.security.jaas import JaasError, parse_jaas
from kafkalite.security.principal_mapping import NoMatchingRule, PrincipalMapper

LINES = 1500
# No zero: the referee parts its answer by it.
_PIECES = (
    *("m", "org.apache.kafka.x$Y", "required", "OPTIONAL", "perhaps", "user_alice", "=", "=", ";"),
    *(";", " ", " ", "\n", "\t", '"', "'", "\\", '"a b"', "'c;d'", '"\\101\\n"', '"\\777"', "a=b"),
    *("/", "//", "/*", "*/", "*", "12", "-3", "1.5x", ".", "-", "-a", "a-b", "a.b", "1a", "_", "#"),
    *(
        "ü",
        "\x7f",
        "\x9f",
        "\xa0",
        "€",
        "😀",
        "{",
        "}",
        "(",
        ",",
        ":",
        "@",
        "\x01",
        "٣",
        "-٣",
        "é=",
    ),
)


def _lines(random: Random) -> str:
    """A line that is mostly good, or anything."""
    if random.random() < 0.2:
        return "".join(random.choices(_PIECES, k=random.randrange(8)))
    options = [
        random.choice(_PIECES) + random.choice(("=", "=", "=", " = ", "")) + random.choice(_PIECES)
        for _ in range(random.randrange(4))
    ]
    end = random.choice((";", ";", ";", " ;", "", ";;", "; m required;"))
    return f"m required {' '.join(options)}{end}"


@pytest.mark.parametrize("seed", [1, 2])
def test_jaas_lines(kafka: Referee, seed: int) -> None:
    random = Random(seed)
    found = []
    agreed = {True: 0, False: 0}
    for _ in range(LINES):
        line = _lines(random)
        theirs: object
        try:
            theirs = kafka.jaas(line)
        except RefereeRefuses:
            theirs = None
        try:
            entry = parse_jaas(line)
            ours = (entry.login_module, dict(entry.options))
        except JaasError:
            ours = None
        agreed[ours is None] += 1
        if ours != theirs:
            found.append((line, ours, theirs))
    assert not found, found[:20]
    assert min(agreed.values()) > LINES / 10


RULES = (
    "DEFAULT",
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,DEFAULT",
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?)$/$1@$2/L,RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U,DEFAULT",
    "RULE:^CN=(?<cn>.*)$/$1/",
    "RULE:^CN=(.*)$/$1@$2/",
    "RULE:^CN=(.*)$/$12/,DEFAULT",
    "RULE:CN=(\\w+).*/$1/,DEFAULT",
    "RULE:(.*)/$0/",
    "RULE:.*/\\$1 \\/x/L , DEFAULT",
    "RULE:(a*)(b)?.*/<$2>/,DEFAULT",
    "RULE:(?<cn>CN=.*)/${cn}!/,DEFAULT",
    "RULE:CN=(.*?)(,.*)?/$1/LU,DEFAULT",
    "RULE:(.*)/a/Lx",
    "RULE:^cn=(.*?),ou=(.*?)$/$1@$2/,  RULE:^x\\/y$/z/",
    "RULE:a*/b/",
    "RULE:(?i)cn=(.*)/$1/L,DEFAULT",
    "RULE:CN=(.++)/$1/,DEFAULT",
    "DEFAULT,RULE:(.*)/x/",
    "RULE:a/,DEFAULT",
    "RULE:()/x/,DEFAULT",
)
# These Kafka takes, and then fails for every client whose name they match.
FAILING = ("RULE:CN=(.*)/$/", "RULE:CN=(.*)/$x/", "RULE:CN=(.*)/${1}/", "RULE:CN=(.*)/${cn}/")
NAMES = (
    "CN=Duke,OU=ServiceUsers,O=Sun,C=US",
    "CN=Duke",
    "cn=a,ou=b",
    "x/y",
    "",
    "CN=ÄÖ İı ß,OU=x",
    "CN=a\\,b,OU=c",
    "CN=x\ny",
    "CN=x\n",
    "CN=٣,O=x",
    "aaab",
    "CN=Duke,OU=Admin,O=Sun",
)


@pytest.mark.parametrize("rules", RULES)
def test_rules_for_principals(kafka: Referee, rules: str) -> None:
    found = []
    for name in NAMES:
        theirs: str | None
        try:
            theirs = kafka.principal(rules, name)
        except RefereeRefuses:
            theirs = None
        try:
            ours = PrincipalMapper(rules).name(name)
        except (ValueError, NoMatchingRule):
            ours = None
        if ours != theirs:
            found.append((name, ours, theirs))
    assert not found, found


@pytest.mark.parametrize("rules", FAILING)
def test_rules_that_fail_later_are_refused_at_once(kafka: Referee, rules: str) -> None:
    assert kafka.principal(f"{rules},DEFAULT", "x/y") == "x/y"
    with pytest.raises(RefereeRefuses, match="IllegalArgumentException"):
        kafka.principal(rules, "CN=Duke")
    with pytest.raises(ValueError, match="refers to no group"):
        PrincipalMapper(rules)
