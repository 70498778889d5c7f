"""Slots that values are resolved for: equality, values without some slots, and hints."""

import pytest

from mjrig.core.errors import BindingError
from mjrig.core.patterns import Slots

LEGS = [("FL_hip",), ("FL_knee",), ("FR_hip",)]


def test_slots_are_equal_with_the_same_names_owner_and_kind() -> None:
    slots = Slots(LEGS, "dog", "joint")
    assert slots == Slots([[name] for (name,) in LEGS], "dog", "joint")
    for other in (Slots(LEGS[:2], "dog", "joint"), Slots(LEGS, "cat", "joint"), Slots(LEGS, "dog")):
        assert slots != other
    assert slots != LEGS


def test_a_pattern_without_some_of_its_slots_becomes_the_names_of_the_others() -> None:
    slots = Slots(LEGS)
    values = {".*_hip": 1.0, "FL_knee": 2.0, "default": 3.0}
    assert slots.without(values, taken=[0], kept=["default"]) == {
        "FR_hip": 1.0, "FL_knee": 2.0, "default": 3.0,
    }  # fmt: skip
    assert slots.without(values, taken=[], kept=["default"]) == values
    assert slots.without({".*": 1.0}, taken=[0, 1, 2], kept=[]) == {}


@pytest.mark.parametrize(
    ("pattern", "hint"), [(".*_hpi", ".*_hip"), ("FL_kne", "FL_knee"), ("FR_hpi.*", "FR_hi.*")]
)
def test_a_hint_for_a_pattern_keeps_its_wildcard(pattern: str, hint: str) -> None:
    with pytest.raises(BindingError, match=f"did you mean '{hint.replace('.*', '[.][*]')}'"):
        Slots(LEGS).spread({pattern: 1.0})
