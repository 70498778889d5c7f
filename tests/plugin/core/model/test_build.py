"""From scene to model: options, keyframes, starting positions, and what is wrong with a model."""

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.model import actor_spec as part
from mjrig.core.model.model_source import load
from mjrig.core.scene.actor_description import Prop
from tests.worlds import ROVER, arm, hinge, make_robot, make_world, make_worlds, refused

TURNED = {"position": [10.0, 0.0, 0.0], "euler_deg": [0.0, 0.0, 90.0]}


# Options ----------------------------------------------------------------------------------------


def test_one_model_brings_all_of_its_options() -> None:
    xml = arm().replace(
        '<option timestep="0.001" gravity="0 0 0"/>',
        '<option timestep="0.004" integrator="implicitfast" cone="elliptic" solver="CG" '
        'iterations="7" impratio="3" gravity="0 1 2"><flag contact="disable" energy="enable"/>'
        "</option>",
    )
    option = make_world(xml).model.opt
    expected = mujoco.MjModel.from_xml_string(xml).opt
    for name in ("timestep", "integrator", "cone", "solver", "iterations", "impratio"):
        assert getattr(option, name) == getattr(expected, name), name
    assert np.array_equal(option.gravity, [0, 1, 2])
    assert (option.disableflags, option.enableflags) == (
        expected.disableflags,
        expected.enableflags,
    )
    assert option.disableflags and option.enableflags


def test_sim_has_the_last_word() -> None:
    world = make_world(arm(), sim={"timestep": 0.005, "integrator": "RK4", "contact": "disable"})
    option = world.model.opt
    assert (option.timestep, option.integrator) == (0.005, mujoco.mjtIntegrator.mjINT_RK4)
    assert option.disableflags & int(mujoco.mjtDisableBit.mjDSBL_CONTACT)


def test_models_that_differ_are_refused_naming_the_field() -> None:
    with pytest.raises(mjrig.PropertyError, match=r"^sim\.gravity: the models differ: "):
        make_worlds({"one": arm(), "two": arm(option="")})


@pytest.mark.parametrize(
    ("option", "field", "ours", "theirs"),
    [
        ('gravity="0 0 0" integrator="RK4"', "integrator", "Euler", "RK4"),
        ('gravity="0 0 0" iterations="3"', "iterations", "100", "3"),
    ],
)
def test_the_message_says_both_values(option: str, field: str, ours: str, theirs: str) -> None:
    message = f"sim.{field}: the models differ: {ours} in 'one', {theirs} in 'two'; "
    with refused(mjrig.PropertyError, message + "set it under sim:"):
        make_worlds({"one": arm(), "two": arm(option=option)})


def test_flags_that_differ_are_refused_too() -> None:
    other = arm().replace('gravity="0 0 0"/>', 'gravity="0 0 0"><flag contact="disable"/></option>')
    message = "sim.contact: the models differ: enable … 'one', … 'two'; …"
    with refused(mjrig.PropertyError, message):
        make_worlds({"one": arm(), "two": other})


def test_sim_settles_what_models_differ_about() -> None:
    world = make_worlds(
        {"one": arm(), "two": arm(option="")}, sim={"gravity": [0, 0, -1], "timestep": 0.002}
    )
    assert world.model.opt.gravity.tolist() == [0, 0, -1]
    assert world.timestep == 0.002


def test_a_prop_has_no_options_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Ball(Prop):
        """A ball."""

        def fill(self, spec: Any) -> None: ...

    (tmp_path / "arm.xml").write_text(arm(option='gravity="0 0 0" integrator="RK4"'))
    ball = '<mujoco><worldbody><body><freejoint/><geom size="1"/></body></worldbody></mujoco>'

    def read(actor: mjrig.Actor, *named: object) -> Any:
        return mujoco.MjSpec.from_string(ball) if actor.prop else load(actor)

    monkeypatch.setattr(part, "load", read)
    scene = mjrig.Scene()
    scene.add_actor("ball", prop=Ball())
    scene.add_actor("arm", model=tmp_path / "arm.xml")
    option = mjrig.World(scene).model.opt
    assert option.integrator == mujoco.mjtIntegrator.mjINT_RK4
    assert option.gravity.tolist() == [0, 0, 0]


def test_sizes_that_models_ask_for_are_kept() -> None:
    sized = '<size njmax="500" nconmax="100" nuserdata="3"/>'
    worlds = {"one": arm().replace("<worldbody>", f"{sized}<worldbody>"), "two": arm()}
    model = make_worlds(worlds).model
    assert (model.njmax, model.nuserdata) == (500, 3)


# Keyframes and poses ----------------------------------------------------------------------------


def test_the_starting_keyframe_is_composed_with_the_pose() -> None:
    world, _ = make_robot(ROVER, keyframe="home", pose=TURNED)
    half = np.sqrt(0.5)
    assert world.data.qpos == pytest.approx([10, 0.1, 0.5, half, 0, 0, half, 0.3])
    assert world.data.qvel == pytest.approx([0, 2, 0, 0, 0, 0.7, 0])


def test_without_a_keyframe_the_actor_starts_at_its_pose() -> None:
    world, _ = make_robot(ROVER, pose=TURNED)
    half = np.sqrt(0.5)
    assert world.data.qpos == pytest.approx([10, 0, 0.5, half, 0, 0, half, 0])


def test_a_keyframe_that_says_no_pose_is_not_moved_twice() -> None:
    world, _ = make_robot(ROVER, pose=TURNED)
    world.reset("drive")
    half = np.sqrt(0.5)
    assert world.data.qpos == pytest.approx([10, 0, 0.5, half, 0, 0, half, 0])
    assert world.data.ctrl.tolist() == [0.25]


def test_mocap_bodies_are_at_the_actors_place() -> None:
    world, _ = make_robot(ROVER, pose=TURNED)
    half = np.sqrt(0.5)
    found = {}
    for key in (None, "home", "far"):
        world.reset(key)
        found[key] = world.data.mocap_pos[0].tolist()
        assert world.data.mocap_quat[0] == pytest.approx([half, 0, 0, half])
    assert found[None] == pytest.approx([10, 1, 0])
    assert found["home"] == pytest.approx([10, 1, 0])
    assert found["far"] == pytest.approx([10, 3, 0])


def test_a_tilted_actor_turns_its_keyframe() -> None:
    pose = {"quaternion": [0.5, 0.5, 0.5, 0.5], "position": [1.0, 2.0, 3.0]}
    world, _ = make_robot(ROVER, pose=pose, keyframe="home")
    # This rotation takes x to y, y to z and z to x.
    assert world.data.qpos[:3] == pytest.approx([1.5, 2.1, 3.0])
    assert world.data.qvel[:3] == pytest.approx([0, 2, 0])


def test_two_robots_of_one_file_do_not_share_anything() -> None:
    world = make_worlds({"one": ROVER, "two": ROVER}, two={"pose": TURNED, "keyframe": "far"})
    assert world.data.qpos[:8] == pytest.approx([0, 0, 0.5, 1, 0, 0, 0, 0])
    assert world.data.qpos[8:11] == pytest.approx([10, 5, 0.5])
    assert world.data.mocap_pos[0] == pytest.approx([1, 0, 0])
    assert world.data.mocap_pos[1] == pytest.approx([10, 3, 0])
    assert world["one"].actuator_names == world["two"].actuator_names == ("turn",)


def test_each_actors_ctrl_of_a_keyframe_is_its_own() -> None:
    pid = '<pid name="p" joint="shoulder" kp="1" kv="1" input="pos vel ff"/>'
    world = make_worlds(
        {
            "one": arm(pid, keys='<key name="k" ctrl="1 2 3"/>'),
            "two": arm(keys='<key name="k" ctrl="4 5"/>'),
        }
    )
    world.reset("k")
    assert world["one"].setpoints.values[:, 0].tolist() == [1, 2, 3]
    assert world["two"].setpoints.position.tolist() == [4, 5]
    world.step()
    assert world.data.ctrl.tolist() == [1, 2, 3, 4, 5]


def test_a_keyframes_activations_are_restored() -> None:
    xml = hinge(
        '<general name="drive" joint="swing" dyntype="filter" dynprm="0.1"/>',
        keys='<key name="wound" act="0.6"/>',
    )
    world, _ = make_robot(xml)
    world.reset("wound")
    assert world.data.act.tolist() == [0.6]


def test_unnamed_keyframes_get_names() -> None:
    _, robot = make_robot(arm(keys='<key qpos="0.1 0"/><key qpos="0.2 0"/>'))
    assert robot.keyframes == ("key", "key_2")


def test_an_unknown_keyframe_is_refused() -> None:
    message = "robot.keyframe: the model has no … 'hmoe'; … 'home'?"
    with refused(mjrig.BindingError, message):
        make_robot(ROVER, keyframe="hmoe")


# Joints -----------------------------------------------------------------------------------------


def test_joints_come_after_the_keyframe() -> None:
    world, robot = make_robot(ROVER, PDController(), keyframe="home", joints={"turn": -1.0})
    assert world.data.qpos[:3] == pytest.approx([0.1, 0, 0.5])
    assert world.data.qpos[7] == -1.0
    assert robot.setpoints.position.tolist() == [-1.0]


def test_joints_are_patterns() -> None:
    world, _ = make_robot(arm(), joints={".*": 0.3})
    assert world.data.qpos.tolist() == [0.3, 0.3]


def test_joints_of_one_actor_leave_the_other() -> None:
    world = make_worlds({"one": arm(), "two": arm()}, two={"joints": {"elbow": 0.3}})
    assert world.data.qpos.tolist() == [0, 0, 0, 0.3]


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ({"elbwo": 1.0}, "robot.joints: 'elbwo' matches no hinge or … 'robot'; … 'elbow'?"),
        ({"elbow": 1.0, "el.*": 2.0}, "robot.joints: 'elbow' is matched by 'elbow' (1) "
         "and 'el.*' (2)"),
        ({"elbow(": 1.0}, "robot.joints: 'elbow(' is not a valid … ), … 5"),
    ],
)  # fmt: skip
def test_joints_that_do_not_fit_are_refused(joints: dict[str, float], message: str) -> None:
    with refused(mjrig.BindingError, message):
        make_robot(arm(), joints=joints)


def test_a_free_joint_is_not_a_starting_position() -> None:
    message = "robot.joints: 'root' matches no hinge or … 'robot'; …"
    with refused(mjrig.BindingError, message):
        make_robot(ROVER, joints={"root": 1.0})


# Names ------------------------------------------------------------------------------------------


def test_unnamed_joints_take_the_name_of_their_body() -> None:
    xml = """
    <mujoco>
      <worldbody>
        <body name="wheel">
          <joint axis="1 0 0"/><joint axis="0 1 0"/>
          <geom size="0.1"/>
        </body>
      </worldbody>
    </mujoco>"""
    _, robot = make_robot(xml)
    assert robot.joint_names == ("wheel", "wheel_2")


def test_an_actor_whose_name_begins_another_keeps_to_itself() -> None:
    world = make_worlds({"dog": arm(), "dog2": arm()}, dog2={"joints": {"elbow": 0.5}})
    assert world["dog"].joint_names == world["dog2"].joint_names
    assert len(world["dog"].actuators) == 2


# What is wrong with a model ---------------------------------------------------------------------


def test_a_model_that_is_missing_is_refused_with_the_nearest_file(tmp_path: Path) -> None:
    (tmp_path / "robot.xml").write_text(arm())
    scene = mjrig.Scene()
    scene.add_actor("dog", model=tmp_path / "robto.xml")
    message = f"dog.model: there is no file {str(tmp_path / 'robto.xml')!r}; … 'robot.xml'?"
    with refused(mjrig.PropertyError, message):
        mjrig.World(scene)


def test_a_model_that_is_no_mjcf_is_refused_on_one_line() -> None:
    with pytest.raises(mjrig.PropertyError, match=r"^robot\.model: [^\n]+$"):
        make_robot("<mujoco><worldbody>")


def test_a_model_that_does_not_compile_is_refused_on_one_line() -> None:
    with pytest.raises(
        mjrig.PropertyError, match=r"^the model does not compile: [^\n]*mass[^\n]*$"
    ):
        make_robot("<mujoco><worldbody><body><joint/></body></worldbody></mujoco>")


@pytest.mark.parametrize(
    "element",
    [
        '<actuator><motor name="c" joint="nowhere"/></actuator>',
        '<sensor><jointpos joint="nowhere"/></sensor>',
        '<equality><joint joint1="nowhere"/></equality>',
        '<contact><exclude body1="nowhere" body2="upper"/></contact>',
    ],
)
def test_an_element_that_names_nothing_is_refused_and_not_left_out(element: str) -> None:
    with pytest.raises(mjrig.PropertyError, match=r"^robot\.model: [^\n]*'nowhere'[^\n]*$"):
        make_robot(arm().replace("</mujoco>", f"{element}</mujoco>"))


def test_a_model_is_found_relative_to_the_scene_file(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "arm.xml").write_text(arm())
    text = "mjrig: 1\nactors:\n  - {name: arm, model: models/arm.xml}\n"
    world = mjrig.World(mjrig.Scene.parse(text, base=tmp_path))
    assert world["arm"].actuator_names == ("a", "b")


def test_a_missing_model_in_a_file_is_a_scene_error_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "scene.yaml"
    file.write_text("mjrig: 1\nactors:\n  - {name: dog, model: none/dog.xml}\n")
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.World(file)
    assert str(info.value).startswith(f"{file}:3:24: actors[0].model: dog.model: there is no file")


def test_a_world_of_thousands_of_fixed_things_has_room_to_look_for_contacts() -> None:
    bodies = "".join(f'<body pos="{3 * i} 0 1"><geom size="0.1"/></body>' for i in range(2000))
    world, _ = make_robot(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    world.step()
    assert world.model.ngeom == 2000


def test_options_that_mujoco_compiles_but_cannot_simulate_are_one_error() -> None:
    message = "MuJoCo cannot simulate the model: mj_checkDiscrete: …"
    sim = {"integrator": "discrete", "sleep": "enable", "island": "disable"}
    for execution in ("python", "auto"):
        with refused(mjrig.PropertyError, message):
            make_world(hinge(), sim=sim, execution=execution)
