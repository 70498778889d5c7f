"""What a class declares, and how it is asked for."""

from collections.abc import Callable
from typing import Any

import pytest

from mjrig.core.errors import PropertyError
from mjrig.core.properties.declaration import Property
from mjrig.core.properties.has_properties import HasProperties
from mjrig.core.properties.scalar_kinds import Bool, Choice, Float
from tests.plugin.core.properties.declared_classes import Mode, Motor, refused
from tests.wording import matches


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


def test_a_condition_on_an_unknown_property_fails_when_the_class_is_made() -> None:
    with pytest.raises(TypeError) as caught:
        type("Bad", (HasProperties,), {"on": Bool(True), "x": Float(0.0, edit_if="limit")})
    assert matches(str(caught.value), "Bad.x: edit_if names no property 'limit'; has: on, …")


def test_a_condition_on_an_unknown_choice_fails_when_the_class_is_made() -> None:
    with pytest.raises(TypeError) as caught:
        type(
            "Bad",
            (HasProperties,),
            {"mode": Choice(Mode.STEP), "x": Float(0.0, edit_if="mode=stepp")},
        )
    assert matches(str(caught.value), "Bad.x: edit_if names no choice 'stepp' of 'mode'; … step, …")


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


def test_the_constructor_names_the_nearest_property() -> None:
    with pytest.raises(PropertyError) as caught:
        Motor(sped=1.0)
    assert matches(str(caught.value), "Motor has no property 'sped'; did … 'speed'?")
    assert (caught.value.keys, caught.value.about_key) == (("sped",), True)


def test_setting_an_unknown_attribute_names_the_nearest_property() -> None:
    motor: Any = Motor()
    error = refused(motor, lambda: setattr(motor, "sped", 1.0))
    assert matches(str(error), "Motor has no property 'sped'; did … 'speed'?")


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
    assert matches(str(error), "Motor has no property 'sped'; did … 'speed'?")


def test_private_attributes_are_nobody_elses_business() -> None:
    motor: Any = Motor()
    motor._anything = 3
    assert motor._anything == 3


def test_nothing_is_authored_at_first() -> None:
    motor = Motor()
    assert (motor.to_data(), motor.authored("speed"), motor.is_authored("speed")) == (
        {},
        None,
        False,
    )
