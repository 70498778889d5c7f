"""Which actuator is bound, which is skipped and why, and what each is called."""

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PassthroughController, PDController
from mjrig.core.model.binding import describe_actuators
from tests.worlds import ZOO, arm, bare, hinge, make_robot, make_world, pd_of, refused

TARGET = "would take torque as a target"
REASONS = {
    "position": f"is a position actuator and {TARGET}",
    "tendon": "drives the tendon 'cable', not a joint",
    "site": "acts on the site 'tip', not a joint",
    "crank": "acts on the slider-crank 'crank', not a joint",
    "ball": "drives the ball joint 'ball'; a law needs a hinge or slide joint",
    "free": "drives the free joint 'root'; a law needs a hinge or slide joint",
    "adhesion": "acts on the body 'three', not a joint",
    "velocity": f"is a velocity actuator and {TARGET}",
    "intvelocity": f"is an intvelocity actuator and {TARGET}",
    "damper": f"is a damper actuator and {TARGET}",
    "cylinder": f"is a cylinder actuator and {TARGET}",
    "muscle": f"is a muscle actuator and {TARGET}",
    "filtered": f"is a general actuator and {TARGET}",
    "pid": "is a pid actuator with 3 inputs, and a law commands one",
    "orientation": "is an orientation actuator with 4 inputs, and a law commands one",
    "dcmotor": f"is a dcmotor actuator and {TARGET}",
}


def test_only_motors_on_hinge_and_slide_joints_are_bound() -> None:
    _, robot = make_robot(ZOO, PDController())
    assert [b.actuator for b in robot.controllers[0].bindings] == [
        "motor",
        "in_parent",
        "slide_motor",
    ]


@pytest.mark.parametrize("name", REASONS)
def test_what_is_skipped_says_why(name: str) -> None:
    _, robot = make_robot(ZOO, PDController())
    assert dict(robot.controllers[0].bindings.skipped)[name] == REASONS[name]


def test_the_articulation_and_its_controller_skip_the_same() -> None:
    _, robot = make_robot(ZOO, PDController())
    assert robot.bindings.skipped == robot.controllers[0].bindings.skipped


def test_skipped_and_bound_are_in_actuator_id_order() -> None:
    _, robot = make_robot(ZOO, PDController(actuators=["slide_motor", "motor", "in_parent"]))
    bound = [b.actuator_id for b in robot.controllers[0].bindings]
    skipped = [b.actuator_id for b in robot.bindings.unbound]
    assert bound == sorted(bound)
    assert skipped == sorted(skipped)


def test_the_order_of_patterns_does_not_change_the_order_of_gains() -> None:
    _, robot = make_robot(arm(), PDController(actuators=["elbow", "shoulder"], kp=[1, 2]))
    pd = pd_of(robot)
    assert [b.joint for b in pd.bindings] == ["shoulder", "elbow"]
    assert pd.kp.tolist() == [1.0, 2.0]


def test_names_are_local_and_the_models_have_the_prefix() -> None:
    world, robot = make_robot(arm(), PDController())
    assert robot.actuator_names == ("a", "b")
    assert robot.joint_names == ("shoulder", "elbow")
    assert world.model.actuator(0).name == "robot/a"


def test_an_unnamed_actuator_takes_the_name_of_its_target() -> None:
    actuators = '<motor joint="elbow"/><motor tendon="cable"/><motor site="tip" gear="1 0 0"/>'
    _, robot = make_robot(arm(actuators))
    assert robot.actuator_names == ("elbow", "cable", "tip")


def test_a_second_unnamed_actuator_on_one_target_is_numbered() -> None:
    actuators = '<motor joint="elbow"/><motor joint="elbow"/><motor joint="elbow"/>'
    _, robot = make_robot(arm(actuators))
    assert robot.actuator_names == ("elbow", "elbow_2", "elbow_3")


def test_a_given_name_is_not_taken_by_an_unnamed_actuator() -> None:
    _, robot = make_robot(arm('<motor joint="elbow"/><motor name="elbow" joint="shoulder"/>'))
    assert robot.actuator_names == ("elbow_2", "elbow")


def test_a_bare_model_names_unnamed_actuators_the_same_way() -> None:
    model, _ = bare(arm('<motor joint="elbow"/><motor joint="elbow"/><motor tendon="cable"/>'))
    assert [b.actuator for b in describe_actuators(model)] == ["elbow", "elbow_2", "cable"]


def test_an_unnamed_orientation_actuator_on_a_site_takes_the_sites_name() -> None:
    xml = """
    <mujoco>
      <worldbody>
        <site name="world_frame"/>
        <body><joint name="decoy"/><geom size="0.1"/><site name="hand"/></body>
      </worldbody>
      <actuator><orientation site="hand" refsite="world_frame" kp="1"/></actuator>
    </mujoco>"""
    model, _ = bare(xml)
    assert [b.actuator for b in describe_actuators(model)] == ["hand"]


def test_an_id_the_model_does_not_have_is_refused() -> None:
    model, data = bare(arm())
    with refused(mjrig.BindingError, "there is no actuator 7; … 2"):
        PDController().bind(model, data, [0, 7])


def test_a_binding_has_the_addresses_of_its_joint() -> None:
    world, robot = make_robot(arm(), PDController())
    model, binding = world.model, robot.bindings[1]
    joint = model.joint("robot/elbow").id
    assert binding.joint_id == joint
    assert binding.qpos_address == model.jnt_qposadr[joint]
    assert binding.dof_address == model.jnt_dofadr[joint]
    assert binding.ctrl_address == model.actuator_ctrladr[1]


def test_addresses_account_for_actuators_with_several_inputs() -> None:
    actuators = '<pid name="p" joint="shoulder" kp="1" kv="1" input="pos vel ff"/>' + (
        '<motor name="m" joint="elbow"/>'
    )
    world, robot = make_robot(arm(actuators), PDController())
    assert world.model.nu == 4
    assert [(b.actuator, b.ctrl_address) for b in robot.bindings] == [("m", 3)]


def test_a_binding_knows_gear_gain_and_limits() -> None:
    actuator = (
        '<general name="drive" joint="swing" gear="3" gainprm="2" '
        'ctrlrange="-4 5" forcerange="-6 7"/>'
    )
    _, robot = make_robot(hinge(actuator, joint='range="-1 2" actuatorfrcrange="-8 9"'))
    binding = robot.bindings[0]
    assert (binding.gear, binding.gain, binding.factor) == (3.0, 2.0, 6.0)
    assert binding.ctrl_range == (-4.0, 5.0)
    assert binding.force_range == (-6.0, 7.0)
    assert binding.joint_range == (-1.0, 2.0)
    assert binding.joint_force_range == (-8.0, 9.0)


def test_ranges_that_are_not_active_are_none() -> None:
    _, robot = make_robot(hinge())
    binding = robot.bindings[0]
    ranges = (binding.ctrl_range, binding.force_range, binding.joint_range)
    assert (*ranges, binding.joint_force_range) == (None, None, None, None)


# Patterns ---------------------------------------------------------------------------------------


def test_a_pattern_matches_joint_or_actuator_names() -> None:
    _, robot = make_robot(arm(), PDController(actuators=["shoul.*", "b"]))
    assert robot.controllers[0].num_bindings == 2


def test_a_pattern_matches_the_whole_name() -> None:
    message = (
        "robot.PDController.actuators: 'should' matches no actuator or … 'robot'; … 'shoulder'?"
    )
    with refused(mjrig.BindingError, message):
        make_robot(arm(), PDController(actuators="should"))


def test_the_default_pattern_claims_nothing_where_there_is_nothing() -> None:
    _, robot = make_robot(hinge(""), PDController())
    assert robot.controllers[0].num_bindings == 0


def test_a_position_actuator_named_literally_is_refused() -> None:
    message = (
        "robot.PDController: 'wrist' is a position actuator … PassthroughController … "
        "allow_non_motor: …"
    )
    xml = arm('<motor name="a" joint="shoulder"/><position name="wrist" joint="elbow"/>')
    with refused(mjrig.BindingError, message):
        make_robot(xml, PDController(actuators=["a", "wrist"]))


def test_a_position_actuator_matched_by_a_pattern_is_skipped() -> None:
    xml = arm('<motor name="a" joint="shoulder"/><position name="wrist" joint="elbow"/>')
    _, robot = make_robot(xml, PDController(actuators=["a", "wr.*"]))
    assert robot.controllers[0].bindings.skipped == [("wrist", REASONS["position"])]


def test_allow_non_motor_binds_a_position_actuator_named_literally() -> None:
    xml = arm('<motor name="a" joint="shoulder"/><position name="wrist" joint="elbow"/>')
    pd = PDController(actuators=["a", "wrist"], allow_non_motor=True)
    _, robot = make_robot(xml, pd)
    assert [b.actuator for b in robot.controllers[0].bindings] == ["a", "wrist"]


def test_allow_non_motor_does_not_bind_what_a_pattern_matches() -> None:
    xml = arm('<motor name="a" joint="shoulder"/><position name="wrist" joint="elbow"/>')
    _, robot = make_robot(xml, PDController(allow_non_motor=True))
    assert [b.actuator for b in robot.controllers[0].bindings] == ["a"]


def test_a_tendon_motor_named_literally_is_refused_with_the_remedy() -> None:
    message = "robot.PDController: 'pull' drives the tendon 'cable', not …"
    with refused(mjrig.BindingError, message):
        make_robot(arm('<motor name="pull" tendon="cable"/>'), PDController(actuators="pull"))


def test_an_actuator_with_several_inputs_is_refused_even_if_non_motors_are_allowed() -> None:
    message = "robot.PDController: 'p' is a pid actuator … 2 …"
    xml = arm('<pid name="p" joint="elbow" kp="1" kv="1"/>')
    with refused(mjrig.BindingError, message):
        make_robot(xml, PDController(actuators="p", allow_non_motor=True))


@pytest.mark.parametrize(
    ("actuator", "what"),
    [
        ('<motor name="drive" joint="swing" gear="0"/>', "gear 0"),
        ('<motor name="drive" joint="swing" gear="1e-200"/>', "gear 1e-200"),
        ('<general name="drive" joint="swing" gainprm="0"/>', "gain 0"),
        ('<position name="drive" joint="swing" gear="0"/>', "gear 0"),
    ],
)
def test_a_factor_of_zero_is_skipped_by_a_pattern_and_refused_by_name(
    actuator: str, what: str
) -> None:
    xml = hinge(actuator + '<motor name="other" joint="swing"/>')
    reason = f"has {what}: no ctrl gives it an effort"
    _, robot = make_robot(xml, PDController())
    assert robot.bindings.skipped == [("drive", reason)]
    assert [b.actuator for b in robot.controllers[0].bindings] == ["other"]
    remedy = "give it a gear and a gain, or leave it out"
    for allow in (False, True):
        with refused(mjrig.BindingError, f"robot.PDController: 'drive' {reason}; {remedy}"):
            make_robot(xml, PDController(actuators="drive", allow_non_motor=allow))


def test_a_tendon_motor_with_gear_zero_is_skipped() -> None:
    xml = arm('<motor name="pull" tendon="cable" gear="0"/>')
    _, robot = make_robot(xml, PDController(transmissions="all"))
    assert robot.bindings.skipped == [("pull", "has gear 0: no ctrl gives it an effort")]


SERVO = """<extension><plugin plugin="mujoco.pid"><instance name="servo">
<config key="kp" value="8"/><config key="kd" value="0.2"/></instance></plugin></extension>"""


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("beside", ["", '<motor name="free" joint="elbow"/>'])
def test_a_plugin_actuator_takes_its_own_setpoint_in_every_execution(
    count: int, beside: str
) -> None:
    joints = ("shoulder", "elbow")[:count]
    servos = "".join(
        f'<plugin name="s_{j}" joint="{j}" plugin="mujoco.pid" instance="servo"/>' for j in joints
    )
    xml = arm(servos + beside).replace("<worldbody>", SERVO + "<worldbody>")
    model, data = bare(xml)
    ctrl = np.zeros(model.nu)
    gain = 3.0 if beside else 0.0
    for step in range(60):
        ctrl[:count] = 0.3 * np.sin(0.1 * step)
        if beside:
            elbow = model.joint("elbow").qposadr[0]
            ctrl[count] = gain * 0.2 + (-gain * data.qpos[elbow] + -0.0 * data.qvel[elbow])
        data.ctrl[:] = ctrl
        mujoco.mj_step(model, data)
    for execution in ("python", "auto", "native", "compiled"):
        world = make_world(xml, [PDController(kp=gain, kv=0.0)], execution=execution)
        robot = world["robot"]
        own = [b.actuator for b in robot.controllers[0].bindings]
        assert own == (["free"] if beside else [])
        reason = "is a plugin actuator: its plugin computes the force and takes ctrl as a setpoint"
        assert [r.startswith(reason) for _, r in robot.bindings.skipped] == [True] * count
        for step in range(60):
            robot.set_targets({"s_.*": 0.3 * float(np.sin(0.1 * step))})
            if beside:
                robot.set_targets({"free": 0.2})
            world.step()
        assert np.array_equal(world.data.qpos, data.qpos), execution


def test_passthrough_does_not_mind_a_gear_of_zero() -> None:
    xml = hinge('<motor name="drive" joint="swing" gear="0"/>')
    _, robot = make_robot(xml, PassthroughController())
    assert robot.controllers[0].num_bindings == 1


def test_transmissions_all_binds_tendons_sites_and_slider_cranks() -> None:
    _, robot = make_robot(ZOO, PDController(transmissions="all"))
    bound = [b.actuator for b in robot.controllers[0].bindings]
    assert bound == ["motor", "in_parent", "slide_motor", "tendon", "site", "crank"]


def test_a_table_is_a_sequence_of_bindings() -> None:
    _, robot = make_robot(ZOO, PDController())
    table = robot.bindings
    assert len(table) == 3
    assert table[0].actuator == "motor"
    assert [b.actuator for b in table[1:]] == ["in_parent", "slide_motor"]
    assert repr(table) == "BindingTable(3 bound, 16 skipped)"


def test_the_same_model_binds_the_same_every_time() -> None:
    tables = [list(make_robot(ZOO, PDController())[1].bindings) for _ in range(2)]
    assert tables[0] == tables[1]


def test_index_arrays_of_setpoints_follow_single_output_actuators() -> None:
    _, robot = make_robot(ZOO, PDController())
    names = [b.actuator for b in robot.actuators if b.output_count == 1]
    assert list(robot.actuator_names) == names
    assert "orientation" not in names
    expected = [names.index(b.actuator) for b in robot.bindings]
    assert np.array_equal(robot.controllers[0].columns, expected)
