"""The values of the verbs of coordinators: fields that are not known are refused."""

from __future__ import annotations

import msgspec
import pytest

from kafkalite.control.coordination import AssignGroup, CoordinatorOf, MoveCoordinator


@pytest.mark.parametrize("type_", [CoordinatorOf, MoveCoordinator])
def test_only_its_own_fields_are_taken(type_: type[msgspec.Struct]) -> None:
    asked = msgspec.convert({"group": "g"}, type_)
    assert msgspec.to_builtins(asked) == {"group": "g"}
    with pytest.raises(msgspec.ValidationError, match="unknown field"):
        msgspec.convert({"groups": "g"}, type_)


def test_an_assignment_has_numbers() -> None:
    asked = {"group": "g", "assignment": {"app": {"orders": [0]}}}
    assert msgspec.convert(asked, AssignGroup).assignment == {"app": {"orders": [0]}}
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        msgspec.convert({"group": "g", "assignment": {"app": {"orders": ["0"]}}}, AssignGroup)
