"""JAAS lines are read as Kafka reads them."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkalite.security.jaas import PLAIN_MODULE, JaasError, parse_jaas, parse_jaas_file


def test_options_of_kafkas_own_line() -> None:
    entry = parse_jaas(
        f'{PLAIN_MODULE} required username="admin" password="s3 c=r;et" user_alice="a\\"b\\n\\x41";'
    )
    assert entry.login_module == PLAIN_MODULE
    assert entry.options == {
        "username": "admin",
        "password": "s3 c=r;et",
        "user_alice": 'a"b\nx41',
    }


@pytest.mark.parametrize(
    ("line", "options"),
    [
        ("m required a=b-c_$9.x;", {"a": "b-c_$9.x"}),
        ("m REQUIRED a='single \" inside';", {"a": 'single " inside'}),
        ("m optional // comment\n a=b /* more */ c=d;", {"a": "b", "c": "d"}),
        ('m sufficient a="\\101\\7z";', {"a": "A\7z"}),
        ("m requisite;", {}),
        ('m required "quoted key"=v;', {"quoted key": "v"}),
        ("m required a=x a=y;", {"a": "y"}),
        ("m required p=ünïcode;", {"p": "ünïcode"}),
    ],
)
def test_words_and_quotes(line: str, options: dict[str, str]) -> None:
    assert parse_jaas(line).options == options


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("", "Login module not specified"),
        ("// nothing", "Login module not specified"),
        ("m", "control flag not specified"),
        ("m 12 a=b;", "control flag is not available"),
        ("m perhaps a=b;", "Invalid login module control flag 'perhaps'"),
        ("m required a=b", "not terminated by semi-colon"),
        ("m required a;", "Value not specified for key 'a'"),
        ("m required a=;", "Value not specified for key 'a'"),
        # A number is no word.
        ("m required port=9092;", "Value not specified for key 'port'"),
        ("m required a=b; n required c=d;", "contains 2 login modules"),
        ("12 required a=b;", "Login module not specified"),
    ],
)
def test_what_is_wrong_is_said_without_the_secret(line: str, words: str) -> None:
    with pytest.raises(JaasError, match=words):
        parse_jaas(line)


def test_options_are_not_shown() -> None:
    assert "hush" not in repr(parse_jaas('m required password="hush";'))


@given(st.text(max_size=60))
def test_no_line_does_anything_but_parse_or_be_refused(line: str) -> None:
    with suppress(JaasError):
        parse_jaas(line)


@given(
    st.lists(
        st.sampled_from(["a", "{", "}", ";", "m required", "k=v", '"', "/*", "\n"]), max_size=9
    )
)
def test_no_file_does_anything_but_parse_or_be_refused(words: list[str]) -> None:
    with suppress(JaasError):
        parse_jaas_file(" ".join(words))


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters='\\"\r\n'), max_size=30))
def test_a_quoted_value_comes_back_whole(value: str) -> None:
    assert parse_jaas(f'm required k="{value}";').options == {"k": value}
