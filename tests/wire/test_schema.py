"""Declarations: which fields a version has, and what a field that it does not have is."""

import pytest

from kafkalite.wire.api_keys import ApiKey
from kafkalite.wire.fields import int32, nullable_string, string
from kafkalite.wire.schema import (
    Kind,
    array,
    data,
    field,
    fields_of,
    message_of,
    metadata_record,
    nested,
    nullable_array,
    nullable_nested,
    record_key,
    record_value,
    request,
    response,
    struct,
    unknown_tagged_fields,
    versioned,
)


@struct
class Inner:
    number: int = field(int32, default=7)


@data(versions=(0, 4), flexible=3)
class Outer:
    plain: str = field(string)
    middle: int = field(int32, since=1, until=2, default=-1)
    text: str | None = field(nullable_string, nullable_since=2)
    names: list[str] = array(string)
    maybe: list[str] | None = nullable_array(string, nullable_since=1, default=[])
    inner: Inner = nested(Inner)
    missing: Inner | None = nullable_nested(Inner, since=2)
    made: Inner | None = nullable_nested(Inner, null_by_default=False)


def declared(name: str):
    (found,) = [each for each in fields_of(Outer) if each.name == name]
    return found


def test_fields_keep_the_order_of_the_declaration() -> None:
    names = ["plain", "middle", "text", "names", "maybe", "inner", "missing", "made"]
    assert [each.name for each in fields_of(Outer)] == names


def test_since_and_until_are_both_inclusive() -> None:
    assert [v for v in range(5) if declared("middle").is_in(v)] == [1, 2]
    assert [v for v in range(5) if declared("missing").is_in(v)] == [2, 3, 4]


def test_null_is_allowed_from_a_version_on() -> None:
    assert [v for v in range(4) if declared("text").nullable_in(v)] == [2, 3]
    assert [v for v in range(4) if declared("maybe").nullable_in(v)] == [1, 2, 3]
    assert [v for v in range(4) if declared("plain").nullable_in(v)] == []
    assert [v for v in range(4) if declared("missing").nullable_in(v)] == [2, 3]


def test_a_field_that_is_not_given_has_its_default() -> None:
    value = Outer()
    assert (value.plain, value.middle, value.text, value.names) == ("", -1, None, [])
    assert (value.maybe, value.inner, value.missing, value.made) == ([], Inner(7), None, Inner(7))


def test_messages_share_no_default() -> None:
    one, other = Outer(), Outer()
    one.names.append("x")
    one.inner.number = 1
    assert other.maybe is not None
    assert (other.names, other.maybe, other.inner.number) == ([], [], 7)
    assert declared("names").make_default() is not declared("names").make_default()


def test_unknown_tagged_fields_are_part_of_the_value_and_no_positional_argument() -> None:
    one, other = Inner(1), Inner(1)
    assert unknown_tagged_fields(one) == ()
    one.unknown_tagged_fields = ((3, b"x"),)
    assert one != other
    with pytest.raises(TypeError):
        Inner(1, ())


def test_a_class_variable_that_is_no_field_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match=r"Wrong\.number is not declared as a field"):

        @struct
        class Wrong:
            number: int = 3


def test_flexible_versions() -> None:
    assert [v for v in range(5) if message_of(Outer).is_flexible(v)] == [3, 4]


@pytest.mark.parametrize(
    ("declare", "kind", "key", "flexible"),
    [
        (request(ApiKey.FETCH, versions=(0, 1), flexible=1), Kind.REQUEST, 1, 1),
        (response(ApiKey.FETCH, versions=(0, 1), flexible=None), Kind.RESPONSE, 1, None),
        (record_key(5), Kind.RECORD_KEY, 5, None),
        (record_value(5, versions=(0, 1), flexible=None), Kind.RECORD_VALUE, 5, None),
        (metadata_record(9, versions=(0, 1)), Kind.METADATA_RECORD, 9, 0),
        (data(versions=(0, 1), flexible=None), Kind.DATA, -1, None),
        (versioned(versions=(0, 1), flexible=0), Kind.VERSIONED, -1, 0),
    ],
)
def test_kinds_of_messages(declare, kind: Kind, key: int, flexible: int | None) -> None:
    class Some:
        number: int = field(int32)

    message = message_of(declare(Some))
    assert (message.kind, message.key, message.flexible_since) == (kind, key, flexible)
    assert (message.min_version, message.max_version) == (0, 0 if kind is Kind.RECORD_KEY else 1)


def test_a_struct_is_made_of_positions_and_names_from_its_first_time_on() -> None:
    @struct
    class New:
        number: int = field(int32, default=7)
        names: list[str] = array(string)
        inner: Inner = nested(Inner)

    first = New(8, names=["a"])
    assert (first.number, first.names, first.inner.number) == (8, ["a"], 7)
    assert first == New(8, ["a"]) != New()
    for wrong in ((1, [], Inner(), ()), (1, 2, 3, 4)):
        with pytest.raises(TypeError):
            New(*wrong)
    with pytest.raises(TypeError):
        New(other=1)


def test_nothing_is_compiled_for_a_struct_that_is_not_made() -> None:
    @struct
    class New:
        number: int = field(int32)

    @struct
    class Other:
        number: int = field(int32)

    assert New.__init__ is Other.__init__
    New()
    assert New.__init__ is not Other.__init__
