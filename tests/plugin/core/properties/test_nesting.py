"""Components nested in properties of others."""

import pytest

from mjrig.core.errors import PropertyError
from mjrig.core.patterns import Slots
from tests.plugin.core.properties.declared_classes import Clamp, Lag, Motor, Owner, refused, reports
from tests.wording import matches, regex


def test_an_instance_is_taken_as_it_is() -> None:
    clamp = Clamp(limit=2.0)
    owner = Owner(clamps=[clamp, {"limit": 3.0}])
    assert owner.clamps[0] is clamp
    assert [c.limit for c in owner.clamps] == [2.0, 3.0]


def test_a_nested_component_is_labelled_by_its_place() -> None:
    owner = Owner(lag={"clamp": {}}, clamps=[{}, {}])
    assert owner.lag is not None
    assert owner.lag.clamp is not None
    assert owner.lag.clamp.label == "Owner.lag.clamp"
    assert owner.clamps[1].label == "Owner.clamps[1]"


def test_an_error_in_a_nested_component_names_its_place() -> None:
    owner = Owner(clamps=[{}])
    error = refused(owner, lambda: setattr(owner.clamps[0], "limit", -1.0))
    assert str(error) == "Owner.clamps[0].limit: must be >= 0 N·m, got -1"


def test_an_error_in_a_nested_mapping_carries_the_whole_path() -> None:
    owner = Owner()
    error = refused(owner, lambda: owner.assign({"clamps": [{}, {"limit": "much"}]}))
    assert str(error) == "Owner.clamps[1].limit: must be a number, got 'much'"
    assert error.keys == ("clamps", 1, "limit")


def test_an_unknown_key_in_a_nested_mapping_carries_the_whole_path() -> None:
    owner = Owner()
    error = refused(owner, lambda: owner.assign({"lag": {"step": 1}}))
    assert matches(str(error), "Lag has no property 'step'; did … 'steps'?")
    assert (error.keys, error.about_key) == (("lag", "step"), True)


def test_a_nested_component_is_a_mapping_or_one_of_its_class() -> None:
    owner = Owner()
    error = refused(owner, lambda: owner.assign({"lag": 3}))
    assert str(error) == "Owner.lag: must be a mapping, got 3"


def test_a_list_of_components_is_a_list() -> None:
    owner = Owner()
    error = refused(owner, lambda: owner.assign({"clamps": {"limit": 1}}))
    assert str(error) == "Owner.clamps: must be a list, got {'limit': 1}"


def test_a_nested_change_reaches_the_owner() -> None:
    owner = Owner(lag={"clamp": {}}, clamps=[{}])
    owner._changes.clear()
    seen = reports(owner)
    assert owner.lag is not None
    assert owner.lag.clamp is not None
    owner.clamps[0].limit = 2.0
    owner.lag.clamp.limit = 3.0
    assert seen == [("clamps",), ("lag",)]
    assert owner._changes == [("clamps",), ("lag",)]


def test_a_nested_change_in_the_owners_group_is_reported_with_it() -> None:
    owner = Owner(clamps=[{}, {}])
    seen = reports(owner)
    with owner.changes():
        owner.clamps[0].limit = 2.0
        owner.clamps[1].limit = 2.0
        owner.size = 3
    assert seen == [("clamps", "size")]


def test_a_mapping_is_reported_once() -> None:
    owner = Owner()
    seen = reports(owner)
    owner.lag = {"steps": 3, "clamp": {"limit": 2}}
    assert seen == [("lag",)]
    assert owner._changes == [("lag",)]


def test_an_error_in_the_owners_group_undoes_nested_changes() -> None:
    owner = Owner(clamps=[{"limit": 2}], lag={"clamp": {}})

    def change() -> None:
        assert owner.lag is not None
        assert owner.lag.clamp is not None
        with owner.changes():
            owner.clamps[0].limit = 3.0
            owner.lag.clamp.limit = 3.0
            owner.assign({"size": "big"})

    assert str(refused(owner, change)) == "Owner.size: must be a number, got 'big'"
    assert owner.clamps[0].limit == 2.0


def test_the_owners_validate_undoes_a_nested_change() -> None:
    owner = Owner(clamps=[{"limit": 60}, {"limit": 40}])
    error = refused(owner, lambda: setattr(owner.clamps[1], "limit", 41.0))
    assert matches(str(error), "Owner: the clamps allow more … 100 N·m …")


def test_a_component_belongs_to_one_owner() -> None:
    clamp = Clamp(limit=2)
    Owner(clamps=[clamp])
    other = Owner()
    error = refused(other, lambda: other.assign({"clamps": [clamp]}))
    assert matches(str(error), "Owner.clamps: Clamp(limit=2) already belongs to Owner; use … copy")
    assert error.at == (0,)


def test_a_component_is_in_one_property_of_its_owner() -> None:
    owner = Owner(lag={"steps": 1})
    error = refused(owner, lambda: owner.assign({"spare": owner.lag}))
    assert matches(str(error), "Owner.spare: Lag(steps=1) already belongs to Owner; use … copy")


def test_a_component_is_in_a_list_once() -> None:
    clamp = Clamp()
    owner = Owner()
    error = refused(owner, lambda: owner.assign({"clamps": [clamp, clamp]}))
    assert matches(str(error), "Owner.clamps: has one component twice; … copy")
    assert clamp.label == "Clamp"


def test_an_item_is_appended_or_nothing_changes() -> None:
    owner, clamp = Owner(clamps=[{"limit": 60}]), Clamp(limit=20)
    Owner.clamps.append(owner, clamp)
    Owner.clamps.append(owner, {"limit": 5})
    assert [c.limit for c in owner.clamps] == [60.0, 20.0, 5.0]
    assert clamp.label == "Owner.clamps[1]"
    error = refused(owner, lambda: Owner.clamps.append(owner, clamp))
    assert matches(str(error), "Owner.clamps: has one component twice; … copy")
    assert clamp.label == "Owner.clamps[1]"
    other = Clamp(limit=41)
    error = refused(owner, lambda: Owner.clamps.append(owner, other))
    assert matches(str(error), "Owner: the clamps allow more … 100 N·m …")
    assert other.label == "Clamp"


def test_a_copy_may_go_elsewhere() -> None:
    clamp = Clamp(limit=2)
    first, second = Owner(clamps=[clamp]), Owner(clamps=[clamp.copy()])
    clamp.limit = 3.0
    assert (first.clamps[0].limit, second.clamps[0].limit) == (3.0, 2.0)


def test_a_component_that_was_replaced_is_free() -> None:
    lag = Lag()
    owner = Owner(lag=lag)
    owner.lag = None
    seen = reports(owner)
    lag.steps = 3
    assert seen == []
    assert Owner(lag=lag).lag is lag


def test_a_component_that_was_refused_is_free() -> None:
    clamp = Clamp()
    owner = Owner()
    refused(owner, lambda: owner.assign({"clamps": [clamp, 3]}))
    assert clamp.label == "Clamp"
    assert Owner(clamps=[clamp]).clamps == (clamp,)


def test_a_component_of_a_group_that_failed_is_free() -> None:
    clamp = Clamp(limit=101)
    owner = Owner()
    refused(owner, lambda: owner.assign({"clamps": [clamp]}))
    assert clamp.label == "Clamp"


def test_a_failed_reordering_leaves_the_order() -> None:
    owner = Owner(clamps=[{"limit": 1}, {"limit": 2}])
    a, b = owner.clamps
    refused(owner, lambda: owner.assign({"clamps": [b, a, 3]}))
    assert (a.label, b.label) == ("Owner.clamps[0]", "Owner.clamps[1]")


def test_a_reordering_relabels() -> None:
    owner = Owner(clamps=[{"limit": 1}, {"limit": 2}])
    a, b = owner.clamps
    owner.clamps = (b, a)
    assert (a.label, b.label) == ("Owner.clamps[1]", "Owner.clamps[0]")


def test_the_callers_list_is_copied() -> None:
    given_list = [Clamp(limit=1)]
    owner = Owner(clamps=given_list)
    given_list.append(Clamp(limit=2))
    assert len(owner.clamps) == 1


def test_parts_are_found_by_role() -> None:
    owner = Owner(lag={}, clamps=[{}, {}])
    assert owner.part("lag") is owner.lag
    assert owner.part("clamps[1]") is owner.clamps[1]


def test_a_missing_part_names_the_nearest() -> None:
    owner = Owner(clamps=[{}])
    error = refused(owner, lambda: owner.part("clamp[0]"))
    assert matches(str(error), "Owner has no part 'clamp[0]'; did … 'clamps[0]'?")


def test_spreading_reaches_nested_components() -> None:
    owner = Owner(clamps=[{"gain": {"hip": 2}}])
    owner.spread_over(Slots([("hip",), ("knee",)], "dog"))
    assert owner.clamps[0].gain.tolist() == [2.0, 1.0]


def test_a_nested_component_that_comes_later_is_spread_too() -> None:
    owner = Owner()
    owner.spread_over(Slots([("hip",), ("knee",)], "dog"))
    owner.clamps = [Clamp(gain=3)]
    assert owner.clamps[0].gain.tolist() == [3.0, 3.0]


def test_spreading_is_all_or_nothing_and_says_where() -> None:
    owner = Owner(clamps=[{"gain": 2}, {"gain": {"kne": 2}}])
    error = refused(owner, lambda: owner.spread_over(Slots([("hip",), ("knee",)], "dog")))
    assert matches(
        str(error), "Owner.clamps[1].gain: 'kne' matches no actuator or … 'dog'; … 'knee'?"
    )
    assert (error.keys, error.at) == (("clamps", 1, "gain"), ("kne",))


def test_a_nested_component_that_cannot_be_spread_is_refused_and_says_where() -> None:
    owner = Owner()
    owner.spread_over(Slots([("hip",), ("knee",)], "dog"))
    error = refused(owner, lambda: owner.assign({"clamps": [{"gain": [1, 2, 3]}]}))
    assert matches(str(error), "Owner.clamps[0].gain: must have 2 values, one … 3; …")
    assert error.keys[:2] == ("clamps", 0)


def test_to_data_says_what_was_authored_in_that_order() -> None:
    motor = Motor(gear=2, speed=3, axis=(1, 0, 0))
    assert list(motor.to_data().items()) == [("gear", 2), ("speed", 3), ("axis", [1, 0, 0])]


# What others see of an object ------------------------------------------------------------------


def test_an_object_knows_its_parent_its_role_and_its_actuators() -> None:
    owner = Owner(clamps=[{"limit": 1}, {"limit": 2}])
    assert (owner.parent, owner.role, owner.slots) == (None, "", None)
    second = owner.clamps[1]
    assert (second.parent, second.role) == (owner, "clamps[1]")
    slots = Slots([("hip",)], "dog")
    owner.spread_over(slots)
    assert second.slots is slots


def test_the_mapping_of_authored_values_is_another_one_after_a_change_only() -> None:
    owner = Owner(size=2, clamps=[{"limit": 1}])
    before = owner.authored_values
    owner.clamps[0].limit = 4.0
    assert owner.authored_values is before
    owner.size = 3
    assert owner.authored_values is not before
    assert before["size"] == 2


def test_authored_properties_can_be_listed_in_another_order() -> None:
    owner = Owner(size=2, lag={"steps": 3})
    owner.reorder(["lag", "size"])
    assert list(owner.to_data())[-2:] == ["lag", "size"]
    with pytest.raises(PropertyError, match=regex("are not the authored …")):
        owner.reorder(["lag"])
    assert owner.size == 2
