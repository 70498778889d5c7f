"""Names and patterns."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.core.errors import BindingError
from mjrig.core.names import is_literal, listed, literal, nearest, suggestion
from mjrig.core.patterns import Slots, compile_pattern
from tests.wording import matches

FIXED = settings(derandomize=True, deadline=None)  # the same cases every time

LEGS = Slots([("FL_hip", "FL_roll"), ("FL_knee",), ("FR_knee", "FR_bend")], "dog")
any_name = st.text(st.characters(codec="ascii", exclude_characters="\n\r"), min_size=1, max_size=12)


def test_listed_joins_names_with_commas() -> None:
    assert listed(["a", "b"]) == "a, b"


def test_listed_cuts_a_long_list_after_twelve() -> None:
    assert listed(str(i) for i in range(13)) == "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …"


def test_listed_says_none_for_nothing() -> None:
    assert listed([]) == "none"


def test_nearest_finds_a_typo() -> None:
    assert nearest("FL_hpi", ["FR_knee", "FL_hip"]) == "FL_hip"


def test_nearest_ignores_case_first() -> None:
    assert nearest("KP", ["kq", "kp"]) == "kp"


def test_nearest_gives_nothing_for_a_stranger() -> None:
    assert nearest("zzz", ["FL_hip"]) is None


def test_nearest_takes_a_number_for_a_name() -> None:
    number: Any = 3
    assert nearest(number, ["hip", "3"]) == "3"


def test_suggestion_names_the_nearest() -> None:
    assert suggestion("hipp", ["hip", "knee"]) == "did you mean 'hip'?"


def test_suggestion_lists_what_there_is_without_doubles() -> None:
    assert suggestion("zzz", ["hip", "knee", "hip"], label="has") == "has: hip, knee"


def test_a_broken_pattern_is_a_binding_error() -> None:
    with pytest.raises(BindingError) as caught:
        compile_pattern("FL_(")
    assert matches(str(caught.value), "'FL_(' is not a valid … ), … 3")


@pytest.mark.parametrize("name", ["FL_hip", "hip-2", "a/b", "knee 3"])
def test_a_plain_name_is_literal_unless_it_has_blanks(name: str) -> None:
    assert is_literal(name) == (" " not in name)


@pytest.mark.parametrize("pattern", [".*", "FL_.*", "a|b", "a.b", "hip[12]", "hip?"])
def test_a_pattern_is_not_literal(pattern: str) -> None:
    assert not is_literal(pattern)


@FIXED
@given(any_name, any_name)
def test_any_name_made_literal_matches_itself_alone(name: str, other: str) -> None:
    found = re.compile(literal(name)).fullmatch(other)
    assert re.fullmatch(literal(name), name)
    assert bool(found) == (name == other)


def test_slots_are_called_by_their_first_alias() -> None:
    assert LEGS.names == ("FL_hip", "FL_knee", "FR_knee")
    assert len(LEGS) == 3


def test_a_pattern_matches_joint_or_actuator() -> None:
    assert LEGS.match("FL_roll") == [0]
    assert LEGS.match(".*_(bend|hip)") == [0, 2]


def test_a_pattern_matches_the_whole_name() -> None:
    with pytest.raises(BindingError) as caught:
        LEGS.match("bend")
    assert matches(str(caught.value), "'bend' matches no actuator or … 'dog'; … 'FR_bend'?")


def test_a_typo_beside_a_wildcard_keeps_the_wildcard() -> None:
    with pytest.raises(BindingError) as caught:
        LEGS.match(".*_hpi")
    assert matches(str(caught.value), "'.*_hpi' matches no actuator or … 'dog'; … '.*_hip'?")


def test_a_typo_before_a_wildcard_keeps_the_wildcard() -> None:
    with pytest.raises(BindingError) as caught:
        LEGS.match("FLL_.*")
    assert matches(str(caught.value), "'FLL_.*' matches no actuator or … 'dog'; … 'FL_.*'?")


def test_a_pattern_like_nothing_gets_the_list_of_all_names() -> None:
    with pytest.raises(BindingError) as caught:
        LEGS.match("zzz")
    assert matches(
        str(caught.value),
        "'zzz' matches no actuator or … 'dog'; … FL_hip, FL_roll, FL_knee, FR_knee, FR_bend",
    )


def test_without_an_owner_the_message_names_none() -> None:
    assert matches(Slots([]).nothing_matches("a"), "'a' matches no actuator or …")


def test_the_error_points_at_the_pattern() -> None:
    with pytest.raises(BindingError) as caught:
        LEGS.match("zzz")
    assert (caught.value.keys, caught.value.at, caught.value.about_key) == ((), ("zzz",), True)


def test_spread_says_which_pattern_gave_the_value() -> None:
    assert LEGS.spread({"FL_.*": 1, "FR_knee": 2}) == {
        0: ("FL_.*", 1),
        1: ("FL_.*", 1),
        2: ("FR_knee", 2),
    }


def test_two_patterns_that_disagree_are_an_error() -> None:
    with pytest.raises(BindingError) as caught:
        LEGS.spread({"FL_.*": 1, ".*_knee": 2})
    assert str(caught.value) == "'FL_knee' is matched by 'FL_.*' (1) and '.*_knee' (2)"
    assert caught.value.at == (".*_knee",)


def test_two_patterns_may_agree() -> None:
    assert set(LEGS.spread({"FL_.*": 1, ".*_knee": 1})) == {0, 1, 2}


@FIXED
@given(st.lists(any_name, min_size=1, max_size=6, unique=True), st.data())
def test_any_slot_is_matched_by_any_of_its_names(names: list[str], data: st.DataObject) -> None:
    slots = Slots([(name,) for name in names])
    name = data.draw(st.sampled_from(names))
    assert slots.match(literal(name)) == [names.index(name)]
