"""The configs that a group has for itself, as they are read."""

from kafkalite.coordinators.group_configs import group_configs
from kafkalite.wire.api_keys import GROUP_RESOURCE


def test_values_are_without_blanks_and_in_plain_digits() -> None:
    own = {
        "consumer.session.timeout.ms": "\x1f\u0665\0",
        "share.isolation.level": " read_committed ",
        "share.renew.acknowledge.enable": " TRUE",
        "of.a.later.release": "1",
    }
    assert group_configs({(GROUP_RESOURCE, "g"): own}, "g") == {
        "consumer.session.timeout.ms": "5",
        "share.isolation.level": "read_committed",
        "share.renew.acknowledge.enable": "true",
    }


def test_most_groups_have_none() -> None:
    assert group_configs({}, "g") == {}
