r"""`ssl.principal.mapping.rules`: from a certificate's distinguished name to a user's name.

A rule is `DEFAULT`, the name as it is, or `RULE:pattern/replacement/[LU]`; the first whose pattern
matches the whole name counts. Source: Kafka's SslPrincipalMapper (KIP-371).
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import Final

from kafkalite.requests.principal import ANONYMOUS, USER_TYPE, Principal

_RULE: Final = r"(DEFAULT)|RULE:((\\.|[^\\/])*)/((\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLIT: Final = re.compile(rf"\s*({_RULE})\s*(,\s*|$)")
_PARSE: Final = re.compile(_RULE)
_REFERENCE: Final = re.compile(r"\\(.)|\$([0-9]+)|\$\{([A-Za-z][A-Za-z0-9]*)\}|(.)", re.DOTALL)

# A dot stands for any character but the ends of lines, of which Java knows more than Python does; a
# named group is written another way. Neither is meant by what is escaped, or in brackets.
_DIFFERENT: Final = re.compile(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|\(\?<(?=[A-Za-z])|\.", re.DOTALL)
_DOT: Final = r"[^\n\r\x85\u2028\u2029]"
_DOT_IS_ANY: Final = re.compile(r"\(\?[a-zA-Z]*s[a-zA-Z]*[:)]")


class NoMatchingRule(Exception):
    """No rule applies to a name."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """`pattern` None is DEFAULT."""

    pattern: re.Pattern[str] | None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        result = self.pattern.sub(self._replaced, name)
        if self.case == "L":
            return result.lower()
        return result.upper() if self.case == "U" else result

    def _replaced(self, match: re.Match[str]) -> str:
        """With Java's references: $1, or as many digits as name a group, and ${name}."""
        parts: list[str] = []
        for escaped, digits, name, other in _REFERENCE.findall(self.replacement):
            if digits:
                parts.append(_group(match, digits))
            elif name:
                parts.append(match[name] or "")
            else:
                parts.append(escaped or other)
        return "".join(parts)


def _group(match: re.Match[str], digits: str) -> str:
    count = match.re.groups
    end = len(digits)
    while end > 1 and int(digits[:end]) > count:
        end -= 1
    number = int(digits[:end])
    if number > count:
        return f"${digits}"  # no such group: as it is written
    return (match[number] or "") + digits[end:]


class PrincipalMapper:
    """The rules of a listener."""

    def __init__(self, rules: str) -> None:
        """Raises ValueError for a rule that cannot be read."""
        self._rules: list[_Rule] = []
        for match in _SPLIT.finditer(rules.strip()):
            text = match[1]
            parsed = _PARSE.match(text)
            if parsed is None or parsed.end() < len(text):
                raise ValueError(f"Invalid rule: {text}")
            if parsed[1] is not None:
                self._rules.append(_Rule(None))
            elif parsed[2] is not None:
                pattern = _compiled(parsed[2])
                _check_references(parsed[4], pattern)
                self._rules.append(_Rule(pattern, parsed[4], parsed[6]))

    def name(self, distinguished_name: str) -> str:
        """Raises NoMatchingRule."""
        for rule in self._rules:
            result = rule.apply(distinguished_name)
            if result is not None:
                return result
        raise NoMatchingRule(f"No rules apply to {distinguished_name}")

    def principal(self, distinguished_name: str | None) -> Principal:
        """The user of a client's certificate, ANONYMOUS without one. Raises NoMatchingRule."""
        if distinguished_name is None:
            return ANONYMOUS
        return Principal(USER_TYPE, self.name(distinguished_name))


def _compiled(pattern: str) -> re.Pattern[str]:
    dot = "." if _DOT_IS_ANY.search(pattern) else _DOT
    text = _DIFFERENT.sub(lambda part: {".": dot, "(?<": "(?P<"}.get(part[0], part[0]), pattern)
    try:
        with warnings.catch_warnings():
            # [a-z&&[^x]] is an intersection for Java, and for Python some characters.
            warnings.simplefilter("error", FutureWarning)
            return re.compile(text, re.ASCII)
    except (re.error, FutureWarning) as error:
        raise ValueError(f"Invalid rule: {pattern}: {error}") from None


def _check_references(replacement: str, pattern: re.Pattern[str]) -> None:
    """Raises ValueError for what refers to nothing: with it Kafka refuses every client."""
    for _, _, name, other in _REFERENCE.findall(replacement):
        if other == "$" or (name and name not in pattern.groupindex):
            raise ValueError(f"Invalid rule: {replacement}: it refers to no group")
