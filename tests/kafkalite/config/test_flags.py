"""--set NAME=VALUE on the command line, and mistakes."""

from __future__ import annotations

import argparse

import pytest

from kafkalite.config.flags import Parser, a_host, add_settings


def parsed(*arguments: str) -> list[tuple[str, str]]:
    parser = argparse.ArgumentParser()
    add_settings(parser)
    settings: list[tuple[str, str]] = parser.parse_args(arguments).settings
    return settings


def test_settings_are_taken_in_order_without_blanks_around() -> None:
    assert parsed() == []
    assert parsed("--set", "a.b = 1", "--set", "c=x=y", "--set", "d=") == [
        ("a.b", "1"),
        ("c", "x=y"),
        ("d", ""),
    ]


@pytest.mark.parametrize("text", ["a.b", "=1", " =1", ""])
def test_a_setting_has_a_name_and_a_value(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parsed("--set", text)
    assert f"{text!r} is not NAME=VALUE" in capsys.readouterr().err


def test_a_mistake_is_one_sentence_and_exit_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        Parser(prog="kafkalite grow").parse_args(["--odd"])
    assert ended.value.code == 2
    said = "kafkalite: unrecognized arguments: --odd (kafkalite grow --help shows what there is)\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("text", "host"), [("::1", "::1"), ("[::1]", "::1"), ("localhost", "localhost"), ("[", "[")]
)
def test_an_address_may_stand_in_brackets(text: str, host: str) -> None:
    assert a_host(text) == host


def test_no_host_is_not_every_host() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="it names no host"):
        a_host("")
