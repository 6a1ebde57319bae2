"""Texts of configs as Java reads and writes them.

What Java and Python understand by a blank, a digit or a number differs at the edges: for Java a
control character is a blank, a no-break space is not, and `1_000` is not a number. Source:
String.trim, Integer.parseInt, Double.parseDouble, Double.toString.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

_BLANKS: Final = "".join(map(chr, range(ord(" ") + 1)))
_COMMA: Final = re.compile(r"[ \t\n\v\f\r]*,[ \t\n\v\f\r]*")
# Java looks at units of UTF-16, so that digits beyond the first plane are none.
_WHOLE: Final = re.compile(r"[+-]?\d+")
_LAST_OF_THE_FIRST_PLANE: Final = "\uffff"
_DECIMAL: Final = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)[fFdD]?")
_HEXADECIMAL: Final = re.compile(
    r"([+-]?0[xX](?:[0-9a-fA-F]+\.?|[0-9a-fA-F]*\.[0-9a-fA-F]+)[pP][+-]?[0-9]+)[fFdD]?"
)
_WORDS: Final = {"NaN": "nan", "Infinity": "inf"}


def trim(text: str) -> str:
    """Take away what Java calls blank, at both ends."""
    return text.strip(_BLANKS)


def split_list(text: str) -> tuple[str, ...]:
    """The items between commas of a trimmed text, with the empty ones; an empty text has none."""
    return tuple(_COMMA.split(text)) if text else ()


def whole_number(text: str, bits: int) -> int | None:
    """The number of so many bits that a text is, in the decimal digits of any script.

    None if it is no number, or does not fit.
    """
    if not _WHOLE.fullmatch(text) or max(text) > _LAST_OF_THE_FIRST_PLANE:
        return None
    try:
        number = int(text)
    except ValueError:  # thousands of digits
        return None
    return number if -(1 << bits - 1) <= number < 1 << bits - 1 else None


def double(text: str) -> float | None:
    """A text as a floating-point number; None if it is not one.

    It may be hexadecimal, and end in a letter for its type.
    """
    sign = text[:1] if text[:1] in ("+", "-") else ""
    if word := _WORDS.get(text[len(sign) :]):
        return float(sign + word)
    if match := _DECIMAL.fullmatch(text):
        return float(match[1])
    if match := _HEXADECIMAL.fullmatch(text):
        return _from_hexadecimal(match[1])
    return None


def _from_hexadecimal(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf" if text.startswith("-") else "inf")


def format_double(value: float) -> str:
    """The text of Java's Double.toString: plain between 10^-3 and 10^7, else like 1.5E10."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return str(value)
    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    if exponent == "n":
        return "NaN"
    if exponent == "F":
        return "-Infinity" if sign else "Infinity"
    text = "".join(map(str, digits)).rstrip("0")
    power = Decimal(repr(value)).adjusted()
    return f"{'-' if sign else ''}{text[0]}.{text[1:] or '0'}E{power}"
