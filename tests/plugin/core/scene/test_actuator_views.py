"""Handles, views, references and names of authored actuators."""

from pathlib import Path

import pytest

import mjrig
from mjrig.components import (
    AdhesionActuator,
    CylinderActuator,
    MotorActuator,
    OrientationActuator,
    PositionActuator,
)
from mjrig.core.names import enumerated
from tests.wording import regex
from tests.worlds import arm, hinge, refused

OTHER_ROOT = "Setting refsite is only allowed for references that share the same root."
NO_SITE = "To set the refsite reference, site must be set first."


@pytest.fixture
def scene(tmp_path: Path) -> mjrig.Scene:
    """Two arms without actuators: `one`, and `two`, which hangs on it."""
    body = '<body name="upper"><site name="grip"/>'
    (tmp_path / "arm.xml").write_text(arm("").replace('<body name="upper">', body))
    made = mjrig.Scene()
    made.add_actor("one", model=tmp_path / "arm.xml")
    made.add_actor("two", model=tmp_path / "arm.xml")
    return made


@pytest.fixture
def actor(scene: mjrig.Scene) -> mjrig.Actor:
    return scene.actors[0]


# Handles ----------------------------------------------------------------------------------------


def test_one_actuator_attached_in_many_places_is_copied(actor: mjrig.Actor) -> None:
    motor = MotorActuator(name="m", gear=3)
    first = actor.joint("shoulder").attach(motor)
    second = actor.joint("elbow").attach(motor)
    tendon = actor.tendon("cable").attach(first)
    assert actor.actuators == (first, second, tendon)
    assert motor.given_targets() == []
    assert [a.gear[0] for a in actor.actuators] == [3, 3, 3]
    assert actor.joint("elbow").actuators == (second,)
    assert (first.joint, tendon.joint, tendon.tendon) == ("shoulder", "", "cable")


def test_without_copy_the_object_itself_is_attached(actor: mjrig.Actor) -> None:
    motor = MotorActuator()
    assert actor.joint("elbow").attach(motor, copy=False) is motor
    assert motor.joint == "elbow"
    other = mjrig.Actor(name="other")
    assert other.add_actuator(motor) is not motor


def test_detaching_takes_the_actuator_off(actor: mjrig.Actor) -> None:
    motor = actor.joint("elbow").attach(MotorActuator())
    with refused(
        mjrig.PropertyError,
        "one.actuators[0] (MotorActuator) does not act on … 'shoulder' … 'one'",
    ):
        actor.joint("shoulder").detach(motor)
    actor.joint("elbow").detach(motor)
    assert actor.actuators == ()


def test_an_unknown_element_names_the_nearest(actor: mjrig.Actor) -> None:
    with refused(mjrig.BindingError, "one has no joint 'elbwo'; … 'elbow'?"):
        actor.joint("elbwo")
    assert actor.body("lower") == actor.body("lower") != actor.body("upper")


def test_a_kind_attaches_only_to_what_it_can_act_on(actor: mjrig.Actor) -> None:
    actor.body("lower").attach(AdhesionActuator())
    with refused(mjrig.PropertyError, "CylinderActuator.body: cylinder actuators do not …"):
        actor.body("lower").attach(CylinderActuator())
    with pytest.raises(TypeError, match="an actuator is attached"):
        actor.joint("elbow").attach("motor")  # type: ignore[arg-type]


def test_a_pattern_acts_on_each_element_it_matches(actor: mjrig.Actor) -> None:
    both = actor.add_actuator(MotorActuator(joint=".*"))
    assert actor.joint("elbow").actuators == actor.joint("shoulder").actuators == (both,)
    one = actor.add_actuator(MotorActuator(joint="elb.*"))
    assert actor.joint("elbow").actuators == (both, one)
    assert actor.joint("shoulder").actuators == (both,)


# Views ------------------------------------------------------------------------------------------


def test_a_view_reads_lists_and_writes_one_or_each(actor: mjrig.Actor) -> None:
    for joint in ("shoulder", "elbow"):
        actor.joint(joint).attach(PositionActuator(name=f"{joint}_servo"))
    view = actor.actuators
    assert view.kp == [1, 1]
    view.kp = 40
    assert view.kp == [40, 40]
    view.kp = [3, 4]
    assert actor.actuators.kp == [3, 4]
    view.ctrlrange = [-1, 1]
    assert [a.ctrlrange.tolist() for a in view] == [[-1, 1], [-1, 1]]
    view.ctrlrange = [[-1, 1], [-2, 2]]
    assert [a.ctrlrange.tolist() for a in view] == [[-1, 1], [-2, 2]]
    view.gear = [5, 6]
    assert [a.gear[0] for a in view] == [5, 6]
    view.gear = [0, 0, 1, 0, 0, 0]
    assert [a.gear[2] for a in view] == [1, 1]
    assert view["elbow_servo"] is view[1]
    assert type(view[:1]) is type(view)
    view[1:].kv = 2
    assert view.kv == [0, 2]
    assert view.apply(lambda a: a.tag) == view.tag == ["position", "position"]


def test_a_view_checks_lengths_names_and_values(actor: mjrig.Actor) -> None:
    actor.joint("elbow").attach(PositionActuator(name="m", kp=7))
    actor.joint("shoulder").attach(PositionActuator(name="n", kp=8))
    view = actor.actuators
    with refused(
        mjrig.PropertyError,
        "kp: got 3 values for 2 actuators; …",
    ):
        view.kp = [1, 2, 3]
    with pytest.raises(mjrig.PropertyError, match="must be >= 0"):
        view.kp = [1, -1]
    assert view.kp == [7, 8]
    with refused(AttributeError, "PositionActuator has no property 'kpp'; did … 'kp'?"):
        _ = view.kpp
    with refused(mjrig.BindingError, "there is no actuator 'mm'; … 'm'?"):
        _ = view["mm"]


# References -------------------------------------------------------------------------------------


def test_references_go_both_ways(actor: mjrig.Actor) -> None:
    source, target = actor.site("tip"), actor.site("grip")
    source.attach(MotorActuator(gear=[0, 0, 1]))
    source.actuators.refsite = target
    assert source.actuators.refsite == ["grip"]
    assert target.ref_actuators == source.actuators
    source.actuators.refsite = None
    assert target.ref_actuators == ()
    target.ref_actuators = source.actuators
    assert source.actuators.refsite == ["grip"]
    target.ref_actuators = ()
    assert source.actuators.refsite == [""]


def test_detaching_the_source_empties_the_references(actor: mjrig.Actor) -> None:
    source, target = actor.site("tip"), actor.site("grip")
    motor = source.attach(MotorActuator())
    target.ref_actuators = motor
    source.detach(motor)
    assert target.ref_actuators == ()


def test_a_reference_needs_a_site_and_a_common_root(scene: mjrig.Scene) -> None:
    one, two = scene.actors
    motor = one.joint("elbow").attach(MotorActuator())
    with pytest.raises(ValueError, match=NO_SITE):
        motor.refsite = "grip"
    with pytest.raises(ValueError, match=OTHER_ROOT):
        MotorActuator().refsite = "grip"
    with pytest.raises(ValueError, match=OTHER_ROOT):
        MotorActuator(site="tip").refsite = one.site("grip")
    on_site = one.site("tip").attach(MotorActuator())
    with pytest.raises(ValueError, match=OTHER_ROOT):
        on_site.refsite = two.site("grip")
    on_site.refsite = None
    two.attach = {"to": "one/lower"}
    on_site.refsite = two.site("grip")
    assert on_site.refsite == "two/grip"
    assert two.site("grip").ref_actuators == (on_site,)


def test_a_reference_to_an_attached_actor_is_compiled(scene: mjrig.Scene) -> None:
    one, two = scene.actors
    servo = OrientationActuator(site="tip", refsite="two/grip", name="turn")
    one.add_actuator(servo)
    with pytest.raises(ValueError, match=OTHER_ROOT):
        mjrig.World(scene)
    two.attach = {"to": "one/lower"}
    model = mjrig.World(scene).model
    assert model.actuator_trnid[0].tolist() == [
        model.site("one/tip").id,
        model.site("two/grip").id,
    ]
    servo.refsite = "two/gripp"
    with pytest.raises(ValueError, match=regex("there is no site 'two/gripp'; … 'two/grip'")):
        mjrig.World(scene)


def test_a_reference_to_nothing_is_refused(actor: mjrig.Actor) -> None:
    actor.add_actuator(MotorActuator(site="tip", refsite="gripp"))
    scene = actor._parent
    assert isinstance(scene, mjrig.Scene)
    with pytest.raises(ValueError, match=regex("one has no site 'gripp'; … 'grip'")):
        mjrig.World(scene)


def test_a_reference_follows_its_actor_into_another_scene(tmp_path: Path) -> None:
    (tmp_path / "rod.xml").write_text(
        hinge("").replace('<body name="arm">', '<site name="s"/><body name="arm"><site name="t"/>')
    )
    (tmp_path / "pair.yaml").write_text(
        "mjrig: 1\nactors:\n"
        "  - {name: a, model: rod.xml}\n"
        "  - name: b\n    model: rod.xml\n    attach: {to: a/arm}\n"
        "    actuators: [{type: MotorActuator, site: t, refsite: a/s}]\n"
    )
    scene = mjrig.Scene.parse(
        "mjrig: 1\ninclude: [{file: pair.yaml, prefix: left_}]\n", base=tmp_path
    )
    model = mjrig.World(scene).model
    assert model.actuator_trnid[0][1] == model.site("left_a/s").id


# Names ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "taken", "found"),
    [
        (["m"], (), ["m"]),
        (["m"] * 3, (), ["m_(0)", "m_(1)", "m_(2)"]),
        (["rock", "rock", "rock_(1)"], (), ["rock_(0)", "rock_(1)_(0)", "rock_(1)_(1)"]),
        (["m", "n"], ("m",), ["m_(0)", "n"]),
        (["m", "m"], ("m_(0)",), ["m_(0)_(0)", "m_(1)"]),
    ],
)
def test_duplicates_are_numbered(
    wanted: list[str], taken: tuple[str, ...], found: list[str]
) -> None:
    assert enumerated(wanted, taken) == found


def test_unnamed_actuators_are_called_like_their_targets(scene: mjrig.Scene) -> None:
    one, two = scene.actors
    one.add_actuator(MotorActuator(joint=".*"))
    one.joint("shoulder").attach(MotorActuator())
    two.joint("shoulder").attach(PositionActuator())
    two.joint("shoulder").attach(MotorActuator(name="shoulder"))
    world = mjrig.World(scene)
    assert world["one"].actuator_names == ("shoulder", "elbow", "shoulder_2")
    assert world["two"].actuator_names == ("shoulder_2", "shoulder")


def test_a_copied_actuator_reads_all_its_copies(scene: mjrig.Scene) -> None:
    one = scene.actors[0]
    motor = one.joint("elbow").attach(MotorActuator())
    one.assign({"replicate": {"count": 2}})
    world = mjrig.World(scene)
    world["one_1"].set_targets({"elbow": 3})
    world.step()
    assert motor.force == [0, 3]


def test_detaching_from_the_reference_keeps_the_actuator(actor: mjrig.Actor) -> None:
    push = actor.site("tip").attach(MotorActuator())
    push.refsite = actor.site("grip")
    actor.site("grip").detach(push)
    assert (push.refsite, actor.actuators) == ("", (push,))
    actor.site("tip").detach(push)
    assert actor.actuators == ()


def test_only_actuators_are_added(actor: mjrig.Actor) -> None:
    with refused(TypeError, "an actuator is added … 'one', … 'motor'"):
        actor.add_actuator("motor")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["kp", "delay", "armature", "cranklength"])
def test_nothing_of_an_actuator_is_infinite(name: str) -> None:
    with refused(mjrig.PropertyError, f"PositionActuator.{name}: must be finite, got inf"):
        PositionActuator.from_data({"joint": "elbow", name: "inf"})


def test_a_world_tells_that_an_actuator_was_edited_since(scene: mjrig.Scene) -> None:
    servo = scene.actors[0].joint("elbow").attach(PositionActuator(kp=3))
    world = mjrig.World(scene)
    assert not world.is_outdated
    servo.kp = 50
    assert world.is_outdated
    assert world.model.actuator_gainprm[0, 0] == 3
    assert mjrig.World(scene).model.actuator_gainprm[0, 0] == 50
    servo.kp = 3
    assert not world.is_outdated
