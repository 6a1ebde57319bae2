"""The writer of sources: indents, names of values, functions before the function."""

from kafkalite.wire.compile_source import SourceWriter


def writer() -> SourceWriter:
    return SourceWriter(3, flexible=True, names={"one": 1})


def test_lines_are_a_function() -> None:
    source = writer()
    source.write_all(["value = one", "for _ in range(3):"])
    source.indent += 1
    source.write("value += one")
    source.indent -= 1
    source.write("return value")
    text = "\n".join(["def count():", *source.lines])
    assert source.execute(text, "count", "a test")() == 4


def test_two_values_of_one_name_have_two_names() -> None:
    source = writer()
    first, second = [1], [2]
    assert source.use(first, "value") == "value"
    assert source.use(second, "value") == "value_"
    assert source.use(first, "value") == "value"
    assert (source.names["value"], source.names["value_"]) == (first, second)


def test_a_value_of_a_format_is_made_once() -> None:
    source = writer()
    made: list[str] = []
    for _ in range(2):
        name = source.use_made("unpack", "i?", lambda: made.append("made") or made)
        assert name.isidentifier()
        assert source.names[name] is made
    assert made == ["made"]
    assert source.use_made("pack", "i?", lambda: 5) != "unpack_it"


def test_a_function_of_its_own_stands_before_the_one_being_written() -> None:
    source = writer()
    source.indent = 2
    source.write("outer")
    with source.own_function("def inner():"):
        assert source.in_function
        source.write("return one + 1")
    source.write("outer again")
    assert not source.in_function
    assert source.lines == ["        outer", "        outer again"]
    assert source.functions == ["def inner():\n    return one + 1"]
    assert source.execute(source.functions[0], "inner", "a test")() == 2
