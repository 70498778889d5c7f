"""Authored actuators: what they apply, what they replace, what they keep."""

import gc
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import (
    ActuatorSensor,
    CylinderActuator,
    DamperActuator,
    IntVelocityActuator,
    MotorActuator,
    MuscleActuator,
    PDController,
    PIDActuator,
    PositionActuator,
    VelocityActuator,
)
from tests.wording import mentions, regex
from tests.worlds import arm, hinge, make_robot, make_world, pd_of, refused

BARE = hinge("", joint='range="-3 3" limited="true"')
CTRL, ACT = 0.7, 0.25


def sample(actuator: dict[str, Any], xml: str = BARE) -> tuple[Any, Any]:
    """Model and data at l = 0.3, l' = -0.5, ctrl 0.7 and, where there is one, activation 0.25."""
    world = make_world(xml, actuators=[actuator])
    data = mujoco.MjData(world.model)
    data.qpos[0], data.qvel[0] = 0.3, -0.5
    data.ctrl[:], data.act[:] = CTRL, ACT
    mujoco.mj_forward(world.model, data)
    return world.model, data


J = {"joint": "swing"}
FORCES: list[tuple[dict[str, Any], float]] = [
    ({"type": "MotorActuator"}, 0.7),
    ({"type": "PositionActuator"}, 0.4),
    ({"type": "PositionActuator", "kp": 50, "kv": 5}, 22.5),
    ({"type": "PositionActuator", "kp": 50, "timeconst": 0.1}, -2.5),
    ({"type": "VelocityActuator"}, 1.2),
    ({"type": "VelocityActuator", "kv": 5}, 6.0),
    ({"type": "IntVelocityActuator"}, -0.05),
    ({"type": "IntVelocityActuator", "kp": 50, "kv": 5}, 0.0),
    ({"type": "DamperActuator", "kv": 5}, 1.75),
    ({"type": "GeneralActuator", "gaintype": "affine", "gainprm": [1, 2, 3]}, 0.07),
    ({"type": "GeneralActuator", "biastype": "affine", "biasprm": [1, -5, -1]}, 0.7),
    ({"type": "GeneralActuator", "dyntype": "filter", "dynprm": 0.1}, 0.25),
    ({"type": "CylinderActuator"}, 0.25),
    ({"type": "CylinderActuator", "timeconst": 0.3, "area": 2, "bias": 1}, 1.5),
    ({"type": "CylinderActuator", "diameter": 0.1}, 0.25 * np.pi * 0.01 / 4),
    ({"type": "CylinderActuator", "bias": [1, 2, 3]}, 0.35),
    ({"type": "MotorActuator", "gear": 30}, 0.7),
]


@pytest.mark.parametrize("actuator", [a for a, _ in FORCES if len(a) > 1], ids=str)
def test_values_survive_copies_attaching_saving_and_loading(
    tmp_path: Path, actuator: dict[str, Any]
) -> None:
    (tmp_path / "hinge.xml").write_text(BARE)
    scene = mjrig.Scene()
    robot = scene.add_actor("robot", model=tmp_path / "hinge.xml")
    robot.assign({"actuators": [{**actuator, **J}]})
    first = robot.actuators[0]
    robot.joint("swing").attach(first.copy())
    robot.remove_actuator(first)
    scene.save(tmp_path / "s.yaml")
    model, loaded = sample({**actuator, **J})[0], mjrig.World(tmp_path / "s.yaml").model
    for name in ("gainprm", "biasprm", "dynprm", "gaintype", "biastype", "dyntype", "gear"):
        assert np.array_equal(
            getattr(model, f"actuator_{name}"), getattr(loaded, f"actuator_{name}")
        )


@pytest.mark.parametrize(("actuator", "force"), FORCES, ids=str)
def test_the_force_is_the_documented_one(actuator: dict[str, Any], force: float) -> None:
    _, data = sample({**actuator, **J})
    assert data.actuator_force[0] == pytest.approx(force, abs=1e-12)


def test_the_activation_follows_as_documented() -> None:
    rates = {
        "PositionActuator": ({"kp": 50, "timeconst": 0.1}, 4.5),
        "CylinderActuator": ({}, 0.45),
    }
    for kind, (values, rate) in rates.items():
        _, data = sample({"type": kind, **values, **J})
        assert data.act_dot[0] == pytest.approx(rate)


def test_a_muscle_pulls_as_documented() -> None:
    curve = {"type": "MuscleActuator", "lengthrange": [0.1, 1], "force": 10, "tausmooth": 0.2}
    _, data = sample({**curve, **J})
    assert data.actuator_force[0] == pytest.approx(-1.4441701, abs=1e-7)


def test_adhesion_pulls_with_its_gain() -> None:
    _, data = sample({"type": "AdhesionActuator", "gain": 7, "body": "arm"})
    assert data.actuator_force[0] == pytest.approx(4.9)


def test_a_gear_scales_length_and_velocity() -> None:
    _, data = sample({"type": "MotorActuator", "gear": 30, **J})
    assert (data.actuator_length[0], data.actuator_velocity[0]) == pytest.approx((9, -15))


def test_a_motor_pulls_a_tendon() -> None:
    world = make_world(arm(""), actuators=[{"type": "MotorActuator", "tendon": "cable", "gear": 2}])
    world.data.ctrl[:] = 3
    mujoco.mj_forward(world.model, world.data)
    assert world.data.qfrc_actuator == pytest.approx([6, 3])


def test_a_slider_crank_needs_and_gets_its_sites() -> None:
    xml = arm("").replace('<body name="upper">', '<site name="rail"/><body name="upper">')
    crank = {"type": "MotorActuator", "cranksite": "tip", "slidersite": "rail", "cranklength": 1.0}
    world = make_world(xml, actuators=[crank])
    assert world.model.actuator_trntype[0] == mujoco.mjtTrn.mjTRN_SLIDERCRANK
    assert world["robot"].actuator("tip").parent_tag == "cranksite"


def test_values_of_shortcuts_go_over_their_law() -> None:
    world = make_world(
        BARE, actuators=[{"type": "PositionActuator", "kp": 3, "biasprm": 2, "actearly": True, **J}]
    )
    assert world.model.actuator_biasprm[0][:3].tolist() == [2, -3, 0]
    assert world.model.actuator_actearly[0]


def test_defaults_of_the_model_are_not_taken_over() -> None:
    xml = BARE.replace(
        "<worldbody>", '<default><general ctrlrange="-7 7" gear="9"/></default><worldbody>'
    )
    world = make_world(xml, actuators=[{"type": "MotorActuator", **J}])
    assert not world.model.actuator_ctrllimited[0]
    assert world.model.actuator_gear[0][0] == 1


def test_more_than_ten_parameters_are_refused() -> None:
    with refused(mjrig.PropertyError, "MotorActuator.gainprm: must have 1 to 10 values, got 11"):
        MotorActuator(gainprm=[1] * 11)


def test_an_unknown_keyword_is_refused_at_once() -> None:
    with refused(mjrig.PropertyError, "PositionActuator has no property 'kpp'; did … 'kp'?"):
        PositionActuator(kpp=3)


def test_user_types_run_a_registered_callback_and_need_one() -> None:
    actuator = {"type": "GeneralActuator", "name": "u", "gaintype": "user", **J}
    with refused(
        mjrig.PropertyError,
        "robot.actuators[0] (GeneralActuator 'u').gaintype: user needs a callback; … "
        "mujoco.set_mjcb_act_gain",
    ):
        make_world(BARE, actuators=[actuator])
    mujoco.set_mjcb_act_gain(lambda model, data, i: 2.0)
    try:
        _, data = sample(actuator)
        assert data.actuator_force[0] == 1.4
    finally:
        mujoco.set_mjcb_act_gain(None)


def test_an_engine_plugin_gets_its_instance() -> None:
    actuator = {
        "type": "GeneralActuator", "plugin": "mujoco.pid", "actdim": 1,
        "plugin_config": {"kp": 4, "ki": 0.5}, **J,
    }  # fmt: skip
    world = make_world(BARE, actuators=[actuator])
    assert world.model.actuator_plugin[0] == 0
    world["robot"].set_targets({"swing": 0.5})
    world.step()
    assert world.data.actuator_force[0] > 1.9
    with pytest.raises(mjrig.PropertyError, match=r"plugin: MuJoCo has no plugin 'mujoco\.pdi'"):
        make_world(BARE, actuators=[{**actuator, "plugin": "mujoco.pdi"}])


# Validity ---------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"type": "PositionActuator", "kp": -1, **J}, "kp: must be >= 0 N·m/rad or N/m, got -1"),
    ({"type": "VelocityActuator", "kv": -1, **J}, "kv: must be >= 0"),
    ({"type": "CylinderActuator", "area": -1, **J}, "area: must be >= 0 m², got -1"),
    ({"type": "CylinderActuator", "timeconst": -1, **J}, "timeconst: must be >= 0 s, got -1"),
    ({"type": "MotorActuator", "lengthrange": [2, 1], **J}, "lengthrange: must be [low, high]"),
    ({"type": "MotorActuator", "forcerange": [2, 1], **J}, "forcerange: must be [low, high]"),
    (
        {"type": "PositionActuator", "kv": 1, "dampratio": 1, **J},
        "dampratio: cannot be combined with kv (1)",
    ),
    (
        {"type": "PositionActuator", "inheritrange": 1, "ctrlrange": [-1, 1], **J},
        "inheritrange: cannot be combined with ctrlrange [-1, 1]; give one of them",
    ),
    ({"type": "MotorActuator", "cranklength": 1, **J}, "cranklength: needs a cranksite"),
    ({"type": "DamperActuator", "ctrllimited": False, **J}, "ctrllimited: cannot be false"),
    ({"type": "MotorActuator", "body": "arm", **J}, "body: joint is given already; give only one"),
    (
        {"type": "MotorActuator", "delay": 0.01, "nsample": 5, **J},
        "nsample: 5 samples of 0.001 s do not cover the delay of 0.01 s; nsample must be >= 10",
    ),
    (
        {"type": "GeneralActuator", "plugin_config": {"kp": 1}, **J},
        "plugin_config: needs the plugin",
    ),
    ({"type": "DCMotorActuator", **J}, "a motor is defined by resistance and motorconst"),
    ({"type": "OrientationActuator", **J}, "so3 joint transmission requires a ball joint"),
    (
        {"type": "PositionActuator", "ctrlspec": "poss", **J},
        "unknown input 'poss'; did you mean 'pos'?",
    ),
    (
        {"type": "MotorActuator", "dyntype": "filtr", **J},
        "dyntype: must be one of none, integrator",
    ),
]


@pytest.mark.parametrize(("actuator", "text"), WRONG, ids=lambda v: str(v)[:60])
def test_what_cannot_be_is_refused_before_it_runs(actuator: dict[str, Any], text: str) -> None:
    with pytest.raises((mjrig.PropertyError, mjrig.BindingError)) as info:
        make_world(BARE, actuators=[{"name": "m", **actuator}])
    assert str(info.value).startswith(f"robot.actuators[0] ({actuator['type']} 'm')")
    assert text in str(info.value)


def test_two_position_laws_on_one_joint_are_refused() -> None:
    servo = {"type": "PositionActuator", "name": "a", **J}
    with refused(
        mjrig.PropertyError,
        "robot.actuators[0] (PositionActuator 'a'): 'a' and 'b' both hold the … 'swing' …",
    ):
        make_world(BARE, actuators=[servo, {**servo, "type": "IntVelocityActuator", "name": "b"}])


def test_an_error_in_a_file_says_where(models: Path) -> None:
    text = (
        "mjrig: 1\nactors:\n  - name: rod\n    model: hinge.xml\n    actuators:\n"
        "      - {type: MotorActuator, joint: swingg}\n"
    )
    with refused(
        mjrig.SceneError,
        "<text>:6:38: actors[0].actuators[0].joint: rod.actuators[0] (MotorActuator).joint: "
        "'swingg' matches no joint; did you mean 'swing'?",
    ):
        mjrig.World(mjrig.Scene.parse(text, base=models))


# Patterns, names, models without motors ---------------------------------------------------------


def test_one_actuator_is_made_per_match_and_the_literal_name_wins() -> None:
    world = make_world(arm(""), actuators=[{"type": "MotorActuator", "name": "m", "joint": ".*"}])
    robot = world["robot"]
    assert robot.actuator_names == ("m_(0)", "m_(1)")
    robot.set_targets({"m": 0.5})
    assert robot.setpoints.position.tolist() == [0.5, 0.5]
    robot.set_targets({"m_(1)": 0.25, "shoulder": 0.125})
    assert robot.setpoints.position.tolist() == [0.125, 0.25]


def test_gains_go_by_the_name_a_person_gave() -> None:
    _, robot = make_robot(
        arm(""),
        PDController(actuators=["m_(0)", "m_(1)"], kp={"m": 7}, kv={"m_(0)": 1, "default": 2}),
        actuators=[{"type": "MotorActuator", "name": "m", "joint": "shoulder|elbow"}],
    )
    assert pd_of(robot).kp.tolist() == [7, 7]
    assert pd_of(robot).kv.tolist() == [1, 2]


def test_the_models_own_names_are_left_alone() -> None:
    robot = make_world(arm(), actuators=[{"type": "DamperActuator", "name": "a", "joint": "elbow"}])
    assert robot["robot"].actuator_names == ("a", "b", "a_(0)")
    robot["robot"].set_targets({"a": 0.5})
    assert robot["robot"].setpoints.position.tolist() == [0.5, 0, 0]


def test_a_urdf_without_motors_gets_them(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text(
        '<robot name="arm"><link name="base"><inertial><mass value="1"/><inertia ixx="1" iyy="1" '
        'izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tip"><inertial><mass '
        'value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="turn" type="revolute"><parent link="base"/><child link="tip"/>'
        '<axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="1"/></joint></robot>'
    )
    scene = mjrig.Scene()
    actor = scene.add_actor("arm", model=tmp_path / "arm.urdf")
    actor.add_actuator(MotorActuator(joint="turn"))
    actor.add_component(PDController(kp=20, kv=5))
    world = mjrig.World(scene)
    world["arm"].set_targets({"turn": 0.4})
    world.step(3000)
    assert world.data.qpos[0] == pytest.approx(0.4, abs=1e-3)


# Keyframes --------------------------------------------------------------------------------------


def test_a_keyframe_gives_the_controls_of_the_models_own_only() -> None:
    own = (
        '<motor name="a" joint="shoulder"/>'
        '<general name="c" joint="elbow" dyntype="filter" dynprm="1"/>'
    )
    keys = '<key name="home" qpos="0.5 0.25" ctrl="3 4" act="5"/>'
    added = [
        {"type": "PIDActuator", "name": "p", "joint": "shoulder"},
        {"type": "CylinderActuator", "name": "w", "joint": "elbow"},
    ]
    world = make_world(arm(own, keys=keys), actuators=added, keyframe="home")
    robot = world["robot"]
    assert robot.actuator_names == ("a", "c", "p", "w")
    assert robot.setpoints.position.tolist() == [3, 4, 0.5, 0]
    assert world.data.act.tolist() == [5, 0]
    assert np.isfinite(world.data.ctrl).all()
    world.step(3)
    assert not world.events


def test_a_replaced_actuator_does_not_take_a_target_for_a_torque() -> None:
    keys = '<key name="home" qpos="0.5" ctrl="0.5"/>'
    xml = hinge('<position name="drive" joint="swing" kp="5"/>', keys=keys)
    robot = make_world(xml, keyframe="home")["robot"]
    assert robot.setpoints.position.tolist() == [0.5]
    motor = {"type": "MotorActuator", "replaces": "drive"}
    robot = make_world(xml, keyframe="home", actuators=[motor])["robot"]
    assert robot.setpoints.position.tolist() == [0.0]


# Replacing --------------------------------------------------------------------------------------

SERVOS = (
    '<position name="a" joint="shoulder" kp="40" kv="2" forcerange="-9 9" ctrlrange="-1 1"/>'
    '<motor name="g" tendon="cable"/>'
    '<position name="b" joint="elbow" kp="30" kv="1" gear="2" forcerange="-5 4"/>'
)
FIELDS: tuple[str, ...] = (
    "trntype",
    "trnid",
    "dyntype",
    "gaintype",
    "biastype",
    "dynprm",
    "gainprm",
    "biasprm",
)
FIELDS += ("ctrllimited", "ctrlrange", "forcelimited", "forcerange", "gear", "ctrlspec")


def assert_same_actuators(one: Any, other: Any) -> None:
    for field in FIELDS:
        name = f"actuator_{field}"
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def test_a_replacement_keeps_name_order_target_gear_and_forcerange() -> None:
    world = make_world(arm(SERVOS), actuators=[{"type": "MotorActuator", "replaces": "[ab]"}])
    model = world.model
    assert world["robot"].actuator_names == ("a", "g", "b")
    assert [b.kind for b in world["robot"].actuators] == ["motor"] * 3
    assert model.actuator_forcerange.tolist() == [[-9, 9], [0, 0], [-5, 4]]
    assert model.actuator_gear[:, 0].tolist() == [1, 1, 2]
    assert not model.actuator_ctrllimited.any()


def test_motors_become_position_actuators() -> None:
    servo = {"type": "PositionActuator", "replaces": ".*", "kp": 40, "kv": 2}
    world = make_world(arm(), actuators=[servo])
    assert [b.kind for b in world["robot"].actuators] == ["position", "position"]
    assert world.model.actuator_biasprm[:, 1:3].tolist() == [[-40, -2], [-40, -2]]


def test_one_actuator_is_replaced_once() -> None:
    motor = {"type": "MotorActuator", "replaces": "a"}
    with refused(
        mjrig.PropertyError,
        "robot.actuators[1] (MotorActuator).replaces: actuators[0] replaces 'a' already",
    ):
        make_world(arm(SERVOS), actuators=[motor, motor])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"type": "AdhesionActuator"}, "adhesion actuators act on … 'a' …"),
        ({"refsite": "tip"}, "To set the refsite reference, …"),
        ({"inparent": True}, "cannot be combined with …"),
        ({"cranklength": 1}, "'a' acts on a joint, …"),
        ({"damping": -1}, "must be >= 0"),
    ],
)
def test_a_replacement_must_fit_what_it_acts_on(values: dict[str, Any], text: str) -> None:
    actuator = {"type": "MotorActuator", "replaces": "a", **values}
    with pytest.raises(mjrig.PropertyError) as info:
        make_world(arm(SERVOS), actuators=[actuator])
    assert mentions(str(info.value), text)


def test_a_replacement_may_get_a_reference() -> None:
    xml = arm('<motor name="s" site="tip" gear="0 0 1 0 0 0"/>').replace(
        '<body name="upper">', '<site name="base"/><body name="upper">'
    )
    servo = {"type": "PositionActuator", "replaces": "s", "refsite": "base"}
    model = make_world(xml, actuators=[servo]).model
    assert model.actuator_trnid[0].tolist() == [model.site("robot/tip").id, 0]


def servo_scene(tmp_path: Path) -> tuple[mjrig.Scene, mjrig.Actor]:
    (tmp_path / "arm.xml").write_text(arm(SERVOS, option='integrator="Euler"'))
    scene = mjrig.Scene()
    return scene, scene.add_actor("robot", model=tmp_path / "arm.xml")


@pytest.mark.parametrize("execution", ["python", "native"])
def test_motors_under_a_pd_do_what_the_position_actuators_did(
    tmp_path: Path, execution: str
) -> None:
    scene, actor = servo_scene(tmp_path)
    native = mjrig.World(scene, "python")
    controller = actor.use_motors()
    assert controller.to_data() == {
        "type": "PDController",
        "actuators": ["a", "b"],
        "kp": {"a": 40.0, "b": 120.0},
        "kv": {"a": 2.0, "b": 4.0},
        "torque_limit": {"a": 9.0, "b": 10.0},
    }
    assert actor.actuators[0].to_data() == {"type": "MotorActuator", "replaces": ["a", "b"]}
    world = mjrig.World(scene, execution)
    native["robot"].set_targets({"a": 0.5, "b": 0.6})  # b: length, twice the angle
    world["robot"].set_targets({"a": 0.5, "b": 0.3})
    for _ in range(300):
        native.step()
        world.step()
        np.testing.assert_allclose(
            world.data.qfrc_actuator, native.data.qfrc_actuator, rtol=1e-9, atol=1e-9
        )


def test_there_and_back_compiles_to_the_same(tmp_path: Path) -> None:
    scene, actor = servo_scene(tmp_path)
    before = mjrig.World(scene).model
    made = actor.use_position_actuators(actor.use_motors())
    assert [a.to_data() for a in made] == [
        {"type": "PositionActuator", "replaces": "a", "kp": 40.0, "kv": 2.0},
        {"type": "PositionActuator", "replaces": "b", "kp": 30.0, "kv": 1.0},
    ]
    assert not actor.components
    assert_same_actuators(before, mjrig.World(scene).model)


def test_a_limit_of_the_controller_becomes_a_forcerange(tmp_path: Path) -> None:
    scene, actor = servo_scene(tmp_path)
    controller = actor.use_motors()
    controller.property_named("torque_limit").assign(controller, 6)
    actor.use_position_actuators(controller)
    model = mjrig.World(scene).model
    assert model.actuator_forcerange[[0, 2]].tolist() == [[-6, 6], [-3, 3]]


def test_authored_motors_become_authored_position_actuators(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(arm(""))
    scene = mjrig.Scene()
    actor = scene.add_actor("robot", model=tmp_path / "arm.xml")
    actor.add_actuator(MotorActuator(joint=".*", name="m"))
    pd = actor.add_component(PDController(kp={"shoulder": 4, "elbow": 5}, kv=1))
    actor.use_position_actuators(pd)
    assert actor.actuators.joint == ["shoulder", "elbow"]
    world = mjrig.World(scene)
    assert world.model.actuator_gainprm[:, 0].tolist() == [4, 5]


def test_a_conversion_of_some_leaves_the_others(tmp_path: Path) -> None:
    scene, actor = servo_scene(tmp_path)
    actor.add_actuator(PositionActuator(replaces="[ab]", kp=7))
    controller = actor.use_motors("b")
    assert [a.to_data() for a in actor.actuators] == [
        {"type": "PositionActuator", "replaces": "a", "kp": 7},
        {"type": "MotorActuator", "replaces": "b"},
    ]
    assert controller.authored("actuators") == "b"
    assert [b.kind for b in mjrig.World(scene)["robot"].actuators] == ["position", "motor", "motor"]


def test_an_authored_position_actuator_becomes_an_authored_motor(tmp_path: Path) -> None:
    (tmp_path / "arm.xml").write_text(arm(""))
    actor = mjrig.Scene().add_actor("robot", model=tmp_path / "arm.xml")
    actor.add_actuator(PositionActuator(joint=".*", name="m", kp=7, kv=1, gear=2))
    controller = actor.use_motors("m.*")
    assert actor.actuators[0].to_data() == {
        "type": "MotorActuator",
        "name": "m",
        "joint": "shoulder|elbow",
        "gear": 2,
    }
    assert (controller.authored("kp"), controller.authored("kv")) == (28.0, 4.0)


def test_an_authored_actuator_is_set_by_path(tmp_path: Path) -> None:
    scene, actor = servo_scene(tmp_path)
    actor.add_actuator(MotorActuator(joint="elbow"))
    scene.set("robot.actuators[0].gear", 3)
    assert actor.actuators[0].gear[0] == 3


def test_a_controller_with_clamps_is_no_position_actuator(tmp_path: Path) -> None:
    _, actor = servo_scene(tmp_path)
    controller = actor.use_motors()
    controller.property_named("delay").assign(controller, {"steps": 2})
    with refused(mjrig.BindingError, "robot.PDController has delay; a position …"):
        actor.use_position_actuators(controller)


def test_a_pattern_without_position_actuators_says_so(tmp_path: Path) -> None:
    _, actor = servo_scene(tmp_path)
    with refused(mjrig.BindingError, "robot: 'g' matches no position actuator; …"):
        actor.use_motors("g")


# Runtime ----------------------------------------------------------------------------------------


def several(tmp_path: Path) -> tuple[mjrig.Scene, mjrig.Actor]:
    (tmp_path / "arm.xml").write_text(arm())
    scene = mjrig.Scene()
    return scene, scene.add_actor("robot", model=tmp_path / "arm.xml")


def test_every_actuator_reads_its_own_numbers(tmp_path: Path) -> None:
    scene, actor = several(tmp_path)
    pid = actor.add_actuator(PIDActuator(joint="elbow", ki=1, slewmax=1, kv=1))
    rate = actor.add_actuator(IntVelocityActuator(joint="shoulder"))
    motor = actor.add_actuator(MotorActuator(joint="shoulder"))
    muscle = actor.add_actuator(MuscleActuator(joint="elbow", force=10, lengthrange=[0, 1]))
    dampers = actor.add_actuator(DamperActuator(joint=".*"))
    with refused(
        mjrig.BindingError,
        "robot.actuators[2] (MotorActuator) is in no world; … World …",
    ):
        _ = motor.force
    world = mjrig.World(scene)
    world.data.act[:] = [1, 2, 3, 0.4]
    world.data.ctrl[:] = np.arange(len(world.data.ctrl)) / 10
    mujoco.mj_forward(world.model, world.data)
    assert pid.activation.tolist() == [1, 2]
    assert (rate.activation, motor.activation, muscle.activation) == (3, None, 0.4)
    assert dampers.activation == [None, None]
    assert pid.ctrl.tolist() == [0.2, 0.3]
    assert (rate.ctrl, motor.ctrl, muscle.ctrl) == (0.4, 0.5, 0.6)
    assert motor.force == 0.5
    assert muscle.force == 10
    assert muscle.applied_force == world["robot"].actuator("elbow_2").force != 10
    assert (pid.tag, motor.parent_tag) == ("pid", "joint")


def test_the_newest_world_is_read_and_not_kept_alive(tmp_path: Path) -> None:
    scene, actor = several(tmp_path)
    motor = actor.add_actuator(MotorActuator(joint="elbow", name="m"))
    first, second = mjrig.World(scene), mjrig.World(scene)
    second["robot"].set_targets({"m": 2})
    first.step()
    second.step()
    assert motor.force == second["robot"].actuator("m").force == 2
    del first, second
    gc.collect()
    with pytest.raises(mjrig.BindingError, match="is in no world"):
        _ = motor.force


def test_a_live_activation_can_be_set() -> None:
    world = make_world(BARE, actuators=[{"type": "CylinderActuator", "name": "c", **J}])
    live = world["robot"].actuator("c")
    live.activation = 0.5
    assert world.data.act.tolist() == [0.5]


def test_an_actuator_without_a_parent_has_no_parent_tag() -> None:
    with pytest.raises(ValueError, match="acts on nothing"):
        _ = MotorActuator().parent_tag
    with pytest.raises(ValueError, match=regex("cannot act on a …")):
        _ = VelocityActuator(body="b").parent_tag
    assert CylinderActuator(joint="j", inparent=True).parent_tag == "jointinparent"


# Sensors ----------------------------------------------------------------------------------------


def test_sensors_come_with_the_actuator_and_are_read_by_name(tmp_path: Path) -> None:
    scene, actor = several(tmp_path)
    sensor = ActuatorSensor(reads="actuatorpos", name="length", cutoff=9)
    motor = actor.add_actuator(
        MotorActuator(name="m", joint="elbow", sensors=[sensor, "actuatorfrc"])
    )
    assert motor.sensors[0] is not sensor
    assert MotorActuator(sensors=sensor, copy=False).sensors[0] is sensor
    world = mjrig.World(scene)
    robot = world["robot"]
    assert list(robot.sensors) == ["length", "m_actuatorfrc"]
    robot.set_targets({"m": 1.5})
    world.step()
    assert robot.sensors["m_actuatorfrc"].tolist() == [1.5]
    with pytest.raises(ValueError, match="read-only"):
        robot.sensors["length"][:] = 1
    actor.remove_actuator(motor)
    assert not mjrig.World(scene)["robot"].sensors
    motor.sensors = None
    assert motor.sensors == ()


def test_the_models_sensors_are_there_too() -> None:
    xml = hinge().replace("<keyframe>", '<sensor><jointpos joint="swing"/></sensor><keyframe>')
    assert list(make_world(xml)["robot"].sensors) == ["swing_jointpos"]


# Files ------------------------------------------------------------------------------------------

SCENE = """mjrig: 1
actors:
  - name: rod
    model: hinge.xml
    actuators: # on top of the model's
      - {type: PositionActuator, replaces: swing_motor, kp: 4, kv: 1e-1, gear: 2}
      - type: MotorActuator
        joint: swing
        ctrlrange: [-1, 1]
        sensors: [actuatorfrc, {reads: actuatorvel, cutoff: 3}]
"""


def test_a_scene_saves_back_as_it_was_written(models: Path) -> None:
    scene = mjrig.Scene.parse(SCENE, base=models)
    assert scene.to_text() == SCENE
    scene.actors[0].actuators[0].property_named("kp").assign(scene.actors[0].actuators[0], 5)
    assert scene.to_text() == SCENE.replace("kp: 4", "kp: 5")
    world = mjrig.World(scene)
    assert world.model.actuator_gainprm[0][0] == 5
    assert list(world["rod"].sensors) == ["swing_actuatorfrc", "swing_actuatorvel"]


def test_authored_motors_run_natively_and_are_exported(models: Path, tmp_path: Path) -> None:
    from mjrig.core.sim.mujoco_export import export

    scene = mjrig.Scene()
    actor = scene.add_actor("legs", model=models / "legs.xml")
    actor.add_actuator(MotorActuator(replaces="left_.*", forcerange=[-3, 3]))
    actor.add_component(PDController(actuators="left_.*", kp=40, kv=2))
    runs = [mjrig.World(scene, execution) for execution in ("python", "native")]
    for world in runs:
        world["legs"].set_targets({"left_hip": 0.3})
        world.step(50)
    np.testing.assert_array_equal(runs[0].data.qpos, runs[1].data.qpos)
    export(scene, tmp_path / "out.xml")
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "out.xml"))
    assert model.actuator("legs/left_hip").forcerange.tolist() == [-3, 3]
