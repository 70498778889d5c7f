"""Scenes whose model is an .mjb: used as it is, and nothing can be put into it."""

from collections.abc import Callable
from pathlib import Path

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components import PDController
from mjrig.core.sim.mujoco_export import export
from tests.conftest import LEGS
from tests.wording import matches
from tests.worlds import refused

GAINS = {"kp": 60, "kv": 2, "torque_limit": 30}
REFUSED = "an .mjb is already compiled and cannot be edited; use the model it was made from"


def dog() -> mjrig.Scene:
    """The bundled quadruped with its motors, without a controller."""
    scene = mjrig.Scene()
    model = "package:mjrig.assets/quadruped/quadruped.xml"
    scene.add_actor("quadruped", model=model, keyframe="home")
    return scene


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("mjb") / "dog.mjb"
    export(dog(), path)
    return path


def compiled(folder: Path, xml: str = LEGS) -> Path:
    path = folder / "legs.mjb"
    mujoco.mj_saveModel(mujoco.MjModel.from_xml_string(xml), str(path), None)
    return path


def scene_of(path: Path, extra: str = "", rest: str = "") -> mjrig.Scene:
    text = f"mjrig: 1\nactors:\n  - name: robot\n    model: {path.name}\n    {extra}\n{rest}"
    return mjrig.Scene.parse(text, base=path.parent)


def said(path: Path, extra: str = "", rest: str = "") -> str:
    with pytest.raises(mjrig.SceneError) as info:
        mjrig.World(scene_of(path, extra, rest))
    return str(info.value)


# As it is ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", ["python", "auto"])
def test_an_exported_scene_runs_bit_for_bit_as_the_scene(exported: Path, execution: str) -> None:
    plain = dog()
    plain["quadruped"].add_component(PDController(**GAINS))
    scene = mjrig.Scene()
    again = scene.add_actor("dog", model=exported, keyframe="quadruped/home")
    again.add_component(PDController(**GAINS))
    worlds = [mjrig.World(plain, "python"), mjrig.World(scene, execution)]
    for world in worlds:
        (robot,) = world.articulations.values()
        robot.set_targets({".*_hip": 0.2})
        world.step(300)
    assert np.array_equal(worlds[0].data.qpos, worlds[1].data.qpos)
    assert np.array_equal(worlds[0].data.ctrl, worlds[1].data.ctrl)
    assert worlds[1].data.qpos[2] > 0.2  # it stands


def test_names_are_the_models_own(exported: Path) -> None:
    world = mjrig.World(scene_of(exported))
    robot = world["robot"]
    assert robot.model_map.prefix == ""
    assert all(name.startswith("quadruped/") for name in robot.actuator_names)
    assert list(robot.keyframes) == ["quadruped/home", "start"]


def test_the_start_of_an_export_is_a_keyframe(exported: Path) -> None:
    start = mjrig.World(scene_of(exported, "keyframe: start"))
    assert np.array_equal(start.data.qpos, mjrig.World(dog()).data.qpos)


def test_sim_has_the_last_word(tmp_path: Path) -> None:
    sim = "sim: {timestep: 0.004, gravity: [0, 0, -1], integrator: implicitfast}\n"
    option = mjrig.World(scene_of(compiled(tmp_path), rest=sim)).model.opt
    assert (option.timestep, option.gravity.tolist()) == (0.004, [0, 0, -1])
    assert option.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST


def test_joints_and_keyframe_say_where_it_starts(tmp_path: Path) -> None:
    extra = "keyframe: home\n    joints: {left_knee: 0.7}"
    world = mjrig.World(scene_of(compiled(tmp_path), extra))
    assert world.data.qpos.tolist() == [0.1, 0.7, 0.3, 0.4]
    world.step(10)
    world.reset("crouch")
    assert world.data.qpos.tolist() == [1, 1, 1, 1]


def test_a_pose_moves_the_free_root(tmp_path: Path) -> None:
    path = compiled(tmp_path, one_leg())
    extra = "pose: {position: [5, 0, 0], euler_deg: [0, 0, 90]}"
    world = mjrig.World(scene_of(path, extra))
    half = np.sqrt(0.5)
    assert world.data.qpos[:7] == pytest.approx([5, 0, 1, half, 0, 0, half])
    world.reset("home")
    assert world.data.qpos[:7] == pytest.approx([5, 3, 2, half, 0, 0, half])


def one_leg() -> str:
    return """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="trunk" pos="0 0 1">
      <freejoint name="root"/>
      <geom size="0.1"/>
      <body name="leg"><joint name="hip" axis="0 1 0"/><geom size="0.1"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="hip"/></actuator>
  <keyframe><key name="home" qpos="3 0 2 1 0 0 0 0.5"/><key qpos="9 9 9 1 0 0 0 0"/></keyframe>
</mujoco>"""


def test_what_has_no_name_is_called_after_its_target(tmp_path: Path) -> None:
    robot = mjrig.World(scene_of(compiled(tmp_path, one_leg())))["robot"]
    assert robot.actuator_names == ("hip",)
    assert list(robot.keyframes) == ["home"]


def test_a_divergence_names_actor_and_joint(tmp_path: Path) -> None:
    world = mjrig.World(scene_of(compiled(tmp_path)))
    world.data.qvel[1] = 1e11
    world.step(3)
    assert [(e.actor, e.joint) for e in world.events] == [("robot", "left_knee")]


# What cannot be ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("attach", "{to: world}"),
        ("base", "fixed"),
        ("scenery", "false"),
        ("dynamics", "{armature: {'.*': 1}}"),
        ("native_gains", "{kp: {'.*': 1}}"),
        ("renamed", "{left: right}"),
        ("removed", "[left]"),
        ("replicate", "{count: 2}"),
        ("keyframes", "[{name: high}]"),
    ],
)
def test_what_needs_a_model_in_the_making_is_refused(tmp_path: Path, name: str, value: str) -> None:
    message = said(compiled(tmp_path), f"{name}: {value}")
    column = 5 + len(name) + 2
    assert message == f"<text>:5:{column}: actors[0].{name}: robot.{name}: {REFUSED}"


@pytest.mark.parametrize(
    ("rest", "place", "kind"),
    [
        ("frames: [{name: spot}]", "<text>:6:17: frames[0].name: ", "frames"),
        ("collision_groups: [{name: g}]", "<text>:6:27: collision_groups[0].name: ",
         "collision_groups"),
    ],
)  # fmt: skip
def test_frames_and_groups_are_refused(tmp_path: Path, rest: str, place: str, kind: str) -> None:
    assert said(compiled(tmp_path), rest=rest) == f"{place}{kind}: {REFUSED}"


def test_nothing_stands_beside_it(tmp_path: Path) -> None:
    other = "  - {name: box, prop: {type: BoxProp}}\n"
    assert said(compiled(tmp_path), rest=other) == (
        "<text>:4:12: actors[0].model: robot.model: an .mjb must be the only actor of a scene, "
        "and there is box"
    )


def test_a_pose_needs_a_free_root(tmp_path: Path) -> None:
    pose = "pose: {position: [1, 0, 0]}"
    assert said(compiled(tmp_path), pose) == (
        "<text>:5:11: actors[0].pose: robot.pose: an .mjb is moved by its free bodies, and joint "
        "'left_hip' is not on one"
    )
    fixed = compiled(tmp_path, "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    assert said(fixed, pose).endswith("by its free bodies, and nothing in it is on one")


def test_native_is_refused_with_the_reason(exported: Path) -> None:
    scene = mjrig.Scene()
    scene.add_actor("dog", model=exported).add_component(PDController(**GAINS))
    message = "dog.PDController cannot run natively: the … .mjb, …"
    with refused(mjrig.ExecutionError, message):
        mjrig.World(scene, "native")


def test_auto_says_why_it_is_not_native(exported: Path) -> None:
    scene = mjrig.Scene()
    scene.add_actor("dog", model=exported).add_component(PDController(**GAINS))
    execution = mjrig.World(scene)["dog"].controllers[0].execution
    assert execution.name != "native"
    assert execution.reason.startswith("not native: the model is an .mjb")


def test_it_is_not_exported_again(exported: Path, tmp_path: Path) -> None:
    scene = mjrig.Scene()
    scene.add_actor("dog", model=exported).add_component(PDController(**GAINS))
    with refused(mjrig.ExecutionError, "the model of the … .mjb: …"):
        export(scene, tmp_path / "again.mjb")
    assert not list(tmp_path.iterdir())


# Files that are none ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda data: b"", "mj_loadModel: failed to load from …"),
        (lambda data: b"not a model" * 20, "Model missing header ID"),
        (lambda data: data[:-1], "Truncated model file - ran out …"),
        (lambda data: data + b"more", "Model file is too large"),
        (
            lambda data: data[:12] + bytes([data[12] ^ 1]) + data[13:],
            "Model and executable use different MuJoCo …",
        ),
    ],
    ids=["empty", "text", "cut", "long", "version"],
)
def test_a_broken_file_is_refused_with_mujocos_reason(
    tmp_path: Path, change: Callable[[bytes], bytes], why: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path = compiled(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    message = said(path)
    assert matches(
        message,
        f"<text>:4:12: actors[0].model: robot.model: {str(path)!r} is not a model of MuJoCo "
        f"{mujoco.__version__}: {why}…",
    )
    assert message.endswith("; export it again")
    assert capfd.readouterr().err == ""  # MuJoCo's own warning is in the message


def test_a_file_that_is_cut_off_is_not_loaded(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    message = said(path)
    assert message.startswith(
        f"<text>:4:12: actors[0].model: robot.model: {path.name!r} is damaged or cut off: "
    )
    assert message.endswith(f"and it has {len(whole) // 2}; export it again")


def test_a_missing_file_names_the_nearest(tmp_path: Path) -> None:
    path = compiled(tmp_path)
    assert said(path.with_name("leg.mjb")).endswith("; did you mean 'legs.mjb'?")
