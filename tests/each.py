"""One test for hundreds of small cases: to start a test takes longer than each of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TypeVar

import pytest

C = TypeVar("C")


def for_each(
    cases: Iterable[C], name: Callable[[C], str] = str
) -> Callable[[Callable[[C], None]], Callable[[], None]]:
    """Makes one test of a function of one case: all cases run, and each that fails is named."""

    def decorate(test: Callable[[C], None]) -> Callable[[], None]:
        def test_all() -> None:
            failures: list[BaseException] = []
            for case in cases:
                try:
                    test(case)
                except (Exception, pytest.fail.Exception) as failure:  # noqa: BLE001
                    failure.add_note(f"in the case of {name(case)}")
                    failures.append(failure)
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} cases fail", failures)

        functools.update_wrapper(test_all, test)
        del test_all.__wrapped__  # whose parameter is no fixture
        return test_all

    return decorate
