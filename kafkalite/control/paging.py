"""Pages of lists: what every verb that lists can be asked with. No broker is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Annotated, TypedDict, TypeVar

from msgspec import Meta, Struct

from kafkalite.control.problems import Problem

T = TypeVar("T")


class Page(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A page of a list: at most `limit` items (default: all) after the one named `after`."""

    limit: Annotated[int, Meta(ge=1)] | None = None
    after: str | None = None


class Paging(TypedDict, total=False):
    """The fields of a Page as keywords."""

    limit: int | None
    after: str | None


def page_by_name(items: Iterable[T], page: Page, name: Callable[[T], str]) -> list[T]:
    """The items of a page, by their names. The one that it is to begin after may be gone."""
    chosen = sorted(items, key=name)
    if page.after is not None:
        after = page.after
        chosen = [each for each in chosen if name(each) > after]
    return chosen[: page.limit]


def page_in_order(items: Iterable[T], page: Page, name: Callable[[T], str]) -> list[T]:
    """The items of a page, in the order that they have. Raises Problem if `after` is gone."""
    left = iter(items)
    if page.after is not None and all(name(each) != page.after for each in left):
        raise Problem("not_found", f"nothing in the list is {page.after!r}", value=page.after)
    return list(islice(left, page.limit))
