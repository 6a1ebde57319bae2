"""A problem has one code, which gives the HTTP status, and says nothing that it does not know."""

from __future__ import annotations

import pytest

from kafkalite.control.problems import Problem, not_found


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("not_found", 404),
        ("exists", 409),
        ("conflict", 409),
        ("too_many", 429),
        ("too_large", 413),
        ("unauthorized", 401),
        ("forbidden", 403),
        ("misdirected", 421),
        ("method_not_allowed", 405),
        ("unsupported_media_type", 415),
        ("invalid_duration", 400),
        ("refused", 400),
    ],
)
def test_a_code_has_a_status(code: str, status: int) -> None:
    assert Problem(code, "why").status == status


def test_a_problem_as_json_has_the_members_of_rfc_9457() -> None:
    assert Problem("exists", "it is there").as_json() == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "code": "exists",
        "detail": "it is there",
    }
    told = Problem("refused", "no", value=0, hint="another way").as_json()
    assert (told["value"], told["hint"]) == (0, "another way")


def test_what_is_not_there_is_named() -> None:
    problem = not_found("topic", "t", hint="look")
    assert str(problem) == "there is no topic 't' (look)"
    assert (problem.code, problem.value, problem.hint) == ("not_found", "t", "look")
