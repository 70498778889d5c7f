"""Properties: declaration, assignment, groups, nesting, copies."""

import pickle
from collections.abc import Callable
from copy import deepcopy
from enum import StrEnum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mjrig.errors import LocatedError, MjrigError, PropertyError
from mjrig.names import Slots
from mjrig.properties.per_actuator import PerActuator
from mjrig.properties.properties import HasProperties, Property, frozen
from mjrig.properties.property_kinds import (
    Bool,
    Choice,
    Float,
    Int,
    Nested,
    NestedList,
    Text,
    Vector,
)

FIXED = settings(derandomize=True, deadline=None)  # the same cases every time


class Mode(StrEnum):
    STEP = "step"
    INTEGRATOR = "integrator"


class Motor(HasProperties):
    on = Bool(True, doc="Whether it runs.")
    mode = Choice(Mode.STEP)
    speed = Float(1.0, min=0.0, max=10.0, unit="rad/s", edit_if="on")
    window = Float(0.5, edit_if="mode=step")
    axis = Vector([0.0, 0.0, 1.0])
    heat = Float(20.0, read_only=True)
    note = Text("", stored=False)
    secret = Int(0, shown=False)
    gear = Int(1, structural=True)

    def prepare(self) -> None:
        self._seen: list[tuple[str, ...]] = []
        self._double = 2.0

    def validate(self) -> None:
        if self.speed == 7.0:
            raise PropertyError(f"{self.label}: seven is unlucky")

    def on_change(self, names: tuple[str, ...]) -> None:
        self._double = 2.0 * self.speed
        if self.speed == 9.0:
            raise PropertyError(f"{self.label}: nine is too loud")


class Clamp(HasProperties):
    limit = Float(1.0, min=0.0, unit="N·m")
    gain = PerActuator(constant=1.0, min=0.0)


class Lag(HasProperties):
    steps = Int(0, min=0)
    clamp = Nested(Clamp)


class Owner(HasProperties):
    size = Int(1)
    lag = Nested(Lag)
    spare = Nested(Lag)
    clamps = NestedList(Clamp, polymorphic=False)

    def prepare(self) -> None:
        self._changes: list[tuple[str, ...]] = []

    def validate(self) -> None:
        if sum(c.limit for c in self.clamps) > 100.0:
            raise PropertyError(f"{self.label}: the clamps allow more than 100 N·m together")

    def on_change(self, names: tuple[str, ...]) -> None:
        self._changes.append(names)


def refused(obj: HasProperties, change: Callable[[], object]) -> PropertyError:
    """The error of a change that must leave the object, and all that is in it, as it was."""
    before = [(member, dict(vars(member))) for member in obj._family()]
    with pytest.raises(PropertyError) as caught:
        change()
    assert [(member, vars(member)) for member in obj._family()] == before
    return caught.value


def reports(obj: HasProperties) -> list[tuple[str, ...]]:
    """A list that grows with every notification."""
    seen: list[tuple[str, ...]] = []
    obj.watch(lambda _, names: seen.append(names))
    return seen


# Declarations -----------------------------------------------------------------------------------


def test_properties_come_in_the_order_of_declaration() -> None:
    names = ["on", "mode", "speed", "window", "axis", "heat", "note", "secret", "gear"]
    assert [p.name for p in Motor.properties()] == names


def test_base_classes_come_first() -> None:
    class Fast(Motor):
        boost = Float(2.0)

    assert [p.name for p in Fast.properties()][-2:] == ["gear", "boost"]


def test_a_subclass_may_declare_a_property_again() -> None:
    class Slow(Motor):
        speed = Float(0.1)

    assert [p.name for p in Slow.properties()] == [p.name for p in Motor.properties()]
    assert (Slow().speed, Motor().speed) == (0.1, 1.0)


def test_the_class_attribute_is_the_declaration() -> None:
    assert isinstance(Motor.speed, Property)
    assert (Motor.speed.name, Motor.speed.owner, Motor.speed.unit) == ("speed", Motor, "rad/s")


def test_a_value_is_read_from_the_instance_dict() -> None:
    assert not hasattr(Property, "__get__")
    assert vars(Motor())["speed"] == 1.0


def test_a_declaration_knows_its_description() -> None:
    assert (Motor.on.doc, Motor.on.kind, Motor.on.category) == (
        "Whether it runs.",
        "bool",
        "General",
    )


def test_flags_are_off_unless_declared() -> None:
    flags = (Motor.on.read_only, Motor.on.stored, Motor.on.shown, Motor.on.structural)
    assert flags == (False, True, True, False)


def test_flags_are_as_declared() -> None:
    assert not Motor.note.stored
    assert not Motor.secret.shown
    assert Motor.gear.structural


def test_a_read_only_property_is_never_stored() -> None:
    assert Motor.heat.read_only
    assert not Motor.heat.stored


def test_property_named_finds_a_declaration() -> None:
    assert Motor.property_named("speed") is Motor.speed


# Edit conditions --------------------------------------------------------------------------------


def test_a_condition_on_an_unknown_property_fails_when_the_class_is_made() -> None:
    with pytest.raises(TypeError) as caught:
        type("Bad", (HasProperties,), {"on": Bool(True), "x": Float(0.0, edit_if="limit")})
    assert str(caught.value) == "Bad.x: edit_if names no property 'limit'; has: on, x"


def test_a_condition_on_an_unknown_choice_fails_when_the_class_is_made() -> None:
    with pytest.raises(TypeError) as caught:
        type(
            "Bad",
            (HasProperties,),
            {"mode": Choice(Mode.STEP), "x": Float(0.0, edit_if="mode=stepp")},
        )
    assert str(caught.value) == (
        "Bad.x: edit_if names no choice 'stepp' of 'mode'; has: step, integrator"
    )


def test_a_property_without_a_condition_is_editable() -> None:
    assert Motor().why_not_editable("on") is None


def test_a_condition_that_holds_gives_no_reason() -> None:
    assert Motor().why_not_editable("speed") is None
    assert Motor().why_not_editable("window") is None


def test_a_condition_on_a_switch_gives_its_reason() -> None:
    assert Motor(on=False).why_not_editable("speed") == "needs on"


def test_a_condition_on_a_choice_gives_its_reason() -> None:
    reason = "needs mode = step (is integrator)"
    assert Motor(mode="integrator").why_not_editable("window") == reason


def test_a_read_only_property_gives_its_reason() -> None:
    assert Motor().why_not_editable("heat") == "is read-only"


# Unknown names ----------------------------------------------------------------------------------


def test_the_constructor_names_the_nearest_property() -> None:
    with pytest.raises(PropertyError) as caught:
        Motor(sped=1.0)
    assert str(caught.value) == "Motor has no property 'sped'; did you mean 'speed'?"
    assert (caught.value.keys, caught.value.about_key) == (("sped",), True)


def test_setting_an_unknown_attribute_names_the_nearest_property() -> None:
    motor: Any = Motor()
    error = refused(motor, lambda: setattr(motor, "sped", 1.0))
    assert str(error) == "Motor has no property 'sped'; did you mean 'speed'?"


def test_assigning_an_unknown_name_lists_what_there_is() -> None:
    motor = Motor()
    error = refused(motor, lambda: motor.assign({"speed": 2.0, "zzz": 1}))
    assert str(error) == (
        "Motor has no property 'zzz'; has: on, mode, speed, window, axis, heat, note, secret, gear"
    )


@pytest.mark.parametrize("name", ["", 3])
def test_a_name_that_is_none_is_refused_like_any_other(name: Any) -> None:
    motor = Motor()
    error = refused(motor, lambda: motor.assign({name: 1}))
    assert str(error).startswith(f"Motor has no property {name!r}; has: on")


def test_an_attribute_with_an_empty_name_is_refused() -> None:
    motor = Motor()
    assert str(refused(motor, lambda: setattr(motor, "", 1))).startswith(
        "Motor has no property ''; has: on"
    )


@pytest.mark.parametrize(
    "look",
    [
        lambda m: m.authored("sped"),
        lambda m: m.is_authored("sped"),
        lambda m: m.is_modified("sped"),
        lambda m: m.why_not_editable("sped"),
        lambda m: m.unset("sped"),
    ],
)
def test_asking_about_an_unknown_property_names_the_nearest(
    look: Callable[[Motor], object],
) -> None:
    motor = Motor()
    error = refused(motor, lambda: look(motor))
    assert str(error) == "Motor has no property 'sped'; did you mean 'speed'?"


def test_private_attributes_are_nobody_elses_business() -> None:
    motor: Any = Motor()
    motor._anything = 3
    assert motor._anything == 3


# Assignment -------------------------------------------------------------------------------------


def test_nothing_is_authored_at_first() -> None:
    motor = Motor()
    assert (motor.to_data(), motor.authored("speed"), motor.is_authored("speed")) == (
        {},
        None,
        False,
    )


def test_an_assignment_is_authored() -> None:
    motor = Motor()
    motor.speed = 3
    assert (motor.speed, motor.authored("speed"), motor.is_authored("speed")) == (3.0, 3, True)


def test_a_read_only_property_refuses() -> None:
    motor = Motor()
    error = refused(motor, lambda: setattr(motor, "heat", 30.0))
    assert str(error) == "Motor.heat: is read-only"


def test_an_error_carries_the_path_to_the_property() -> None:
    motor = Motor()
    assert refused(motor, lambda: motor.assign({"axis": [0, "up", 1]})).keys == ("axis",)
    assert refused(motor, lambda: motor.assign({"axis": [0, "up", 1]})).at == (1,)


def test_a_property_error_is_a_value_error_and_ours() -> None:
    assert issubclass(PropertyError, ValueError)
    assert issubclass(PropertyError, MjrigError)
    assert issubclass(PropertyError, LocatedError)


def test_an_error_seen_from_above_has_a_longer_path() -> None:
    error = PropertyError("wrong", ("kp",), at=(0,), about_key=True).below("components", 1)
    assert (str(error), error.keys, error.at, error.about_key) == (
        "wrong",
        ("components", 1, "kp"),
        (0,),
        True,
    )


def test_is_modified_compares_with_the_default() -> None:
    motor = Motor(speed=1.0, window=2.0)
    names = ("speed", "window", "axis")
    assert [motor.is_modified(n) for n in names] == [False, True, False]


def test_is_modified_looks_at_nested_components() -> None:
    owner = Owner(lag={}, clamps=[])
    assert [owner.is_modified(n) for n in ("lag", "spare", "clamps")] == [True, False, False]


def test_unset_returns_to_the_default() -> None:
    motor = Motor(speed=3.0, gear=2)
    seen = reports(motor)
    motor.unset("speed")
    assert (motor.speed, motor.to_data(), seen) == (1.0, {"gear": 2}, [("speed",)])


def test_unset_of_what_was_never_set_reports_nothing() -> None:
    motor = Motor()
    seen = reports(motor)
    motor.unset("speed")
    assert seen == []


def test_unset_frees_a_nested_component() -> None:
    lag = Lag()
    owner = Owner(lag=lag)
    owner.unset("lag")
    assert (owner.lag, lag.label) == (None, "Lag")


# Groups and notification ------------------------------------------------------------------------


def test_an_assignment_notifies_once() -> None:
    motor = Motor()
    seen = reports(motor)
    motor.speed = 2.0
    assert seen == [("speed",)]


def test_a_watcher_gets_the_object() -> None:
    motor = Motor()
    seen: list[HasProperties] = []
    motor.watch(lambda obj, _: seen.append(obj))
    motor.speed = 2.0
    assert seen == [motor]


def test_assign_notifies_once_for_several() -> None:
    motor = Motor()
    seen = reports(motor)
    motor.assign({"speed": 2.0, "gear": 3})
    assert seen == [("speed", "gear")]


def test_a_group_notifies_once_with_each_name_once() -> None:
    motor = Motor()
    seen = reports(motor)
    with motor.changes():
        motor.speed = 2.0
        motor.gear = 2
        motor.speed = 3.0
        assert seen == []
    assert seen == [("speed", "gear")]


def test_a_group_inside_a_group_reports_with_the_outer_one() -> None:
    motor = Motor()
    seen = reports(motor)
    with motor.changes():
        with motor.changes():
            motor.speed = 2.0
        assert seen == []
        motor.gear = 2
    assert seen == [("speed", "gear")]


def test_a_group_without_a_change_reports_nothing() -> None:
    motor = Motor()
    seen = reports(motor)
    with motor.changes():
        pass
    assert seen == []


def test_unwatch_ends_the_notifications() -> None:
    motor = Motor()
    first: list[tuple[str, ...]] = []
    stop = motor.watch(lambda _, names: first.append(names))
    second = reports(motor)
    stop()
    stop()
    motor.speed = 2.0
    assert (first, second) == ([], [("speed",)])


def test_a_failed_assignment_notifies_nobody() -> None:
    motor = Motor()
    seen = reports(motor)
    refused(motor, lambda: setattr(motor, "speed", -1.0))
    assert seen == []


def test_assign_is_all_or_nothing() -> None:
    motor = Motor(speed=2.0)
    error = refused(motor, lambda: motor.assign({"speed": 3.0, "gear": 2, "on": "yes"}))
    assert str(error) == "Motor.on: must be true or false, got 'yes'"


def test_an_error_in_a_group_undoes_the_group() -> None:
    motor = Motor(speed=2.0)
    before = dict(vars(motor))
    seen = reports(motor)
    with pytest.raises(RuntimeError, match="outside"), motor.changes():
        motor.speed = 3.0
        motor.gear = 2
        raise RuntimeError("outside")
    assert {**vars(motor), "_watchers": ()} == before
    assert seen == []


def test_a_group_works_again_after_a_failed_one() -> None:
    motor = Motor()
    refused(motor, lambda: setattr(motor, "speed", -1.0))
    seen = reports(motor)
    motor.speed = 2.0
    assert (motor.speed, seen) == (2.0, [("speed",)])


def test_validate_undoes_the_group() -> None:
    motor = Motor(speed=2.0)
    error = refused(motor, lambda: motor.assign({"gear": 3, "speed": 7.0}))
    assert str(error) == "Motor: seven is unlucky"


def test_validate_sees_the_group_as_a_whole() -> None:
    motor = Motor()
    with motor.changes():
        motor.speed = 7.0
        motor.speed = 8.0
    assert motor.speed == 8.0


def test_on_change_undoes_the_group_and_what_it_derived() -> None:
    motor = Motor(speed=2.0)
    error = refused(motor, lambda: motor.assign({"gear": 3, "speed": 9.0}))
    assert str(error) == "Motor: nine is too loud"
    assert motor._double == 4.0


def test_on_change_comes_before_the_watchers() -> None:
    motor = Motor()
    seen: list[float] = []
    motor.watch(lambda *_: seen.append(motor._double))
    motor.speed = 3.0
    assert seen == [6.0]


def test_no_value_is_missing_while_a_group_is_undone() -> None:
    """Another thread may read at any moment; a dict that was emptied would show the declaration."""

    class Watched(dict[str, object]):
        emptied = False

        def clear(self) -> None:
            type(self).emptied = True
            super().clear()

    motor = Motor()
    motor.__dict__ = Watched(vars(motor))
    refused(motor, lambda: motor.assign({"gear": 2, "speed": -1.0}))
    assert not Watched.emptied


@FIXED
@given(
    st.dictionaries(
        st.sampled_from(["on", "speed", "window", "axis", "gear", "secret"]),
        st.sampled_from([True, 2, -3, 2.5, "fast", None, [0, 0, 1], [1], float("nan"), {}]),
    )
)
def test_any_group_is_taken_whole_or_changes_nothing(values: dict[str, object]) -> None:
    motor = Motor(speed=3.0)
    before = dict(vars(motor))
    try:
        motor.assign(values)
    except PropertyError:
        assert vars(motor) == before
    else:
        assert motor.to_data() == {"speed": 3.0, **values}


# Nesting ----------------------------------------------------------------------------------------


def test_a_mapping_makes_a_nested_component() -> None:
    owner = Owner(lag={"steps": 3})
    assert isinstance(owner.lag, Lag)
    assert owner.lag.steps == 3


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
    assert str(error) == "Lag has no property 'step'; did you mean 'steps'?"
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
    assert str(error) == "Owner: the clamps allow more than 100 N·m together"


def test_a_component_belongs_to_one_owner() -> None:
    clamp = Clamp(limit=2)
    Owner(clamps=[clamp])
    other = Owner()
    error = refused(other, lambda: other.assign({"clamps": [clamp]}))
    assert str(error) == "Owner.clamps: Clamp(limit=2) already belongs to Owner; pass a copy()"
    assert error.at == (0,)


def test_a_component_is_in_one_property_of_its_owner() -> None:
    owner = Owner(lag={"steps": 1})
    error = refused(owner, lambda: owner.assign({"spare": owner.lag}))
    assert str(error) == "Owner.spare: Lag(steps=1) already belongs to Owner; pass a copy()"


def test_a_component_is_in_a_list_once() -> None:
    clamp = Clamp()
    owner = Owner()
    error = refused(owner, lambda: owner.assign({"clamps": [clamp, clamp]}))
    assert str(error) == "Owner.clamps: has one component twice; pass a copy()"
    assert clamp.label == "Clamp"


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
    assert str(error) == "Owner has no part 'clamp[0]'; did you mean 'clamps[0]'?"


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
    assert str(error) == (
        "Owner.clamps[1].gain: 'kne' matches no actuator or joint of 'dog'; did you mean 'knee'?"
    )
    assert (error.keys, error.at) == (("clamps", 1, "gain"), ("kne",))


def test_a_nested_component_that_cannot_be_spread_is_refused_and_says_where() -> None:
    owner = Owner()
    owner.spread_over(Slots([("hip",), ("knee",)], "dog"))
    error = refused(owner, lambda: owner.assign({"clamps": [{"gain": [1, 2, 3]}]}))
    assert str(error) == (
        "Owner.clamps[0].gain: must have 2 values, one per actuator, got 3; order: hip, knee"
    )
    assert error.keys[:2] == ("clamps", 0)


# Plain data and copies --------------------------------------------------------------------------


def test_to_data_says_what_was_authored_in_that_order() -> None:
    motor = Motor(gear=2, speed=3, axis=(1, 0, 0))
    assert list(motor.to_data().items()) == [("gear", 2), ("speed", 3), ("axis", [1, 0, 0])]


def test_to_data_leaves_out_what_is_not_stored() -> None:
    assert Motor(note="mine", speed=2).to_data() == {"speed": 2}


def test_to_data_descends_into_nested_components() -> None:
    data = {"lag": {"steps": 3, "clamp": {"limit": 2}}, "clamps": [{}, {"limit": 1}]}
    assert Owner.from_data(data).to_data() == data


def test_to_data_is_a_copy() -> None:
    motor = Motor(axis=[1, 0, 0])
    data: Any = motor.to_data()
    data["axis"][0] = 9
    assert motor.to_data() == {"axis": [1, 0, 0]}


def test_from_data_names_an_unknown_key() -> None:
    with pytest.raises(PropertyError) as caught:
        Motor.from_data({"sped": 1})
    assert str(caught.value) == "Motor has no property 'sped'; did you mean 'speed'?"


def test_a_repr_reads_like_the_constructor() -> None:
    assert repr(Motor(speed=2, gear=3)) == "Motor(speed=2, gear=3)"


def roundtripped(obj: HasProperties) -> Any:
    return pickle.loads(pickle.dumps(obj))


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_a_copy_is_equal_and_independent(duplicate: Callable[[Owner], Owner]) -> None:
    owner = Owner(size=2, lag={"steps": 3, "clamp": {"limit": 2}}, clamps=[{"limit": 4}, {}])
    twin = duplicate(owner)
    assert twin.to_data() == owner.to_data()
    twin.clamps[0].limit = 5.0
    assert owner.clamps[0].limit == 4.0
    assert twin.clamps[0].label == "Owner.clamps[0]"
    assert twin.clamps[0]._parent is twin


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_the_arrays_of_a_copy_are_read_only(duplicate: Callable[[Motor], Motor]) -> None:
    twin = duplicate(Motor(axis=[1, 0, 0]))
    assert twin.axis.tolist() == [1.0, 0.0, 0.0]
    assert not twin.axis.flags.writeable


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_a_copy_keeps_what_a_file_would_not(duplicate: Callable[[Motor], Motor]) -> None:
    assert duplicate(Motor(note="mine")).note == "mine"


@pytest.mark.parametrize("duplicate", [deepcopy, roundtripped, HasProperties.copy])
def test_a_copy_is_neither_watched_nor_nested(duplicate: Callable[[Clamp], Clamp]) -> None:
    owner = Owner(clamps=[{}])
    seen, above = reports(owner.clamps[0]), reports(owner)
    twin = duplicate(owner.clamps[0])
    twin.limit = 3.0
    assert (seen, above, twin.label) == ([], [], "Clamp")


def test_frozen_is_a_read_only_copy() -> None:
    values = np.array([1.0, 2.0])
    array = frozen(values)
    values[0] = 9.0
    assert array.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 9.0


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
    with pytest.raises(PropertyError, match="are not the authored properties"):
        owner.reorder(["lag"])
    assert owner.size == 2
