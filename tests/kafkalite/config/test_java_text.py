"""Texts of configs, read and written as Java does."""

import math

import pytest

from kafkalite.config.java_text import double, format_double, split_list, trim, whole_number


def test_blanks_are_control_characters_and_spaces() -> None:
    assert trim("\x00\t a b \x1f\n") == "a b"
    assert trim("\u00a0a\u2003") == "\u00a0a\u2003"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        ("a", ("a",)),
        ("a \t, b,", ("a", "b", "")),
        (",", ("", "")),
        ("a,\u00a0b", ("a", "\u00a0b")),
    ],
)
def test_lists(text: str, items: tuple[str, ...]) -> None:
    assert split_list(text) == items


@pytest.mark.parametrize(
    ("text", "number"),
    [("+5", 5), ("-0", 0), ("007", 7), ("\u0661\u0662", 12), ("\uff15", 5), ("-32768", -32768)],
)
def test_whole_numbers(text: str, number: int) -> None:
    assert whole_number(text, 16) == number


@pytest.mark.parametrize(
    "text",
    ["", "+", "--5", "1_000", "0x10", "1.5", "5L", " 5", "32768", "\U0001d7d3", "1" * 5000],
)
def test_no_whole_numbers(text: str) -> None:
    assert whole_number(text, 16) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1d", 1.0),
        ("+.5f", 0.5),
        ("5.", 5.0),
        ("0x1p-1", 0.5),
        ("0X.8p0D", 0.5),
        ("-0x1p5000", -math.inf),
        ("-Infinity", -math.inf),
        ("1e400", math.inf),
    ],
)
def test_doubles(text: str, number: float) -> None:
    assert double(text) == number


def test_not_a_number_is_one() -> None:
    assert math.isnan(double("+NaN") or 0)


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "infinity", "1_0.0", "1,5", "0x1", ".", "1e", "\u0661", "\U0001d7d3"]
)
def test_no_doubles(text: str) -> None:
    assert double(text) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (math.nan, "NaN"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-2147483647.0, "-2.147483647E9"),
        (1e7, "1.0E7"),
    ],
)
def test_doubles_are_written(value: float, text: str) -> None:
    assert format_double(value) == text
