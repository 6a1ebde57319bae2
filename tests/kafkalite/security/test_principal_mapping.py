"""Rules for the names of certificates, with the examples of KIP-371 and Kafka's documentation."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.requests.principal import ANONYMOUS, Principal
from kafkalite.security.principal_mapping import NoMatchingRule, PrincipalMapper

KAFKAS_EXAMPLE = (
    "RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/,"
    "RULE:^CN=(.*?),OU=(.*?),O=(.*?),L=(.*?),ST=(.*?),C=(.*?)$/$1@$2/L,"
    "RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L,"
    "DEFAULT"
)


@pytest.mark.parametrize(
    ("rules", "name", "user"),
    [
        ("DEFAULT", "CN=Duke,OU=x", "CN=Duke,OU=x"),
        ("", "CN=Duke", None),
        (KAFKAS_EXAMPLE, "CN=serviceuser,OU=ServiceUsers,O=Unknown,C=Unknown", "serviceuser"),
        (
            KAFKAS_EXAMPLE,
            "CN=adminUser,OU=Admin,O=Unknown,L=Unknown,ST=Unknown,C=Unknown",
            "adminuser@admin",
        ),
        (KAFKAS_EXAMPLE, "OU=x, CN=Duke.Of", "duke.of"),
        (KAFKAS_EXAMPLE, "OU=x", "OU=x"),
        ("RULE:^CN=(.*?),.*$/$1/U", "CN=duke,OU=x", "DUKE"),
        ("RULE:^CN=(.*?),.*$/$1/L", "CN=DUKE", None),
        # A group that is not there is text; a longer number gives back what it need not have.
        ("RULE:^CN=(.*)$/$1@$2/", "CN=a", "a@$2"),
        ("RULE:^CN=(.*)$/$12/", "CN=a", "a2"),
        (r"RULE:^cn=(.*?),ou=(.*?)$/$1@$2/,  RULE:^x\/y$/z/", "x/y", "z"),
        ("RULE:^CN=(?<cn>.*)$/$1/", "CN=named", "named"),
        ("RULE:^CN=(?<cn>.*)$/${cn}!/", "CN=named", "named!"),
        # A dot matches no end of a line that Java knows, unless it is told so.
        *(("RULE:.*/x/,DEFAULT", name, name) for name in ("a\nb", "a\rb", "a\x85b", "a\u2028b")),
        ("RULE:(?s).*b/x/", "a\nb", "x"),
        (r"RULE:a\.[.]/x/,DEFAULT", "a..", "x"),
        (r"RULE:a\.[.]/x/,DEFAULT", "a.b", "a.b"),
        # A word has letters of ASCII, as in Java.
        (r"RULE:CN=\w+/x/,DEFAULT", "CN=ü", "CN=ü"),
    ],
)
def test_the_first_rule_that_matches_counts(rules: str, name: str, user: str | None) -> None:
    mapper = PrincipalMapper(rules)
    if user is None:
        with pytest.raises(NoMatchingRule):
            mapper.name(name)
    else:
        assert mapper.name(name) == user


@pytest.mark.parametrize(
    "rules",
    [
        *("nonsense", "RULE:a", "RULE:(/$1/", "DEFAULT,broken", "RULE:a/b/LU", "RULE:a/b/x"),
        *("RULE:a/$/", "RULE:a/$x/", "RULE:a/${b}/", "RULE:[a-z&&[^x]]/b/"),
    ],
)
def test_a_rule_that_cannot_be_read_is_refused(rules: str) -> None:
    with pytest.raises(ValueError, match="Invalid rule"):
        PrincipalMapper(rules)


def test_without_a_certificate_one_is_anonymous() -> None:
    mapper = PrincipalMapper("DEFAULT")
    assert mapper.principal(None) == ANONYMOUS
    assert mapper.principal("CN=a") == Principal("User", "CN=a")


@given(
    st.lists(
        st.sampled_from(["RULE:", "DEFAULT", "/", "$1", "$9", "(", ")", ".*", "^", "L", ",", "\\"])
        | st.text(max_size=3),
        max_size=12,
    ).map("".join),
    st.text(max_size=20),
)
def test_any_rules_are_refused_or_name_a_user(rules: str, name: str) -> None:
    try:
        mapper = PrincipalMapper(rules)
    except ValueError:
        return
    with contextlib.suppress(NoMatchingRule):
        assert isinstance(mapper.name(name), str)
