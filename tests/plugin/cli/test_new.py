"""`mjrig new`: a first scene for any model."""

from pathlib import Path
from typing import Any

import mujoco
import pytest

from mjrig.cli.first_scene import first_scene, watch
from mjrig.cli.main import main
from mjrig.core.errors import MjrigError
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.check.preflight import exit_code, findings
from tests.places import ASSETS
from tests.wording import regex

BOX = '<geom type="box" size=".1 .1 .1"/>'


def written(folder: Path, text: str, name: str = "bot.xml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def mjcf(body: str, rest: str = "", option: str = "") -> str:
    return f"<mujoco>{option}<worldbody><body>{body}</body></worldbody>{rest}</mujoco>"


def finished(model: Path, target: Path) -> Scene:
    made = first_scene(model, target.parent)
    made.scene.save(target)
    return Scene.load(target)


@pytest.mark.parametrize("name", ["arm", "gripper", "pendulum", "quadruped"])
def test_a_bundled_robot_holds_its_pose_in_its_first_scene(tmp_path: Path, name: str) -> None:
    model = ASSETS / name / f"{name}.xml"
    scene = finished(model, tmp_path / "scene.yaml")
    assert exit_code(findings(World(scene)), strict=True) == 0
    assert watch(World(scene), scene.actors[0].name).well


def test_gains_are_those_of_the_inertia(tmp_path: Path) -> None:
    """kp = M ω², kv = 2 M ω for a disc that nothing loads, whose inertia is known."""
    inertia, hertz = 0.2, 5.0
    body = (
        '<joint name="j" axis="0 0 1"/>'
        f'<inertial pos="0 0 0" mass="1" diaginertia="0.1 0.1 {inertia}"/>'
    )
    motor = '<actuator><motor joint="j" name="m"/></actuator>'
    scene = finished(written(tmp_path, mjcf(body, motor)), tmp_path / "s.yaml")
    law: Any = World(scene)["bot"].controllers[0]
    omega = 2.0 * 3.141592653589793 * hertz
    assert float(law.kp[0]) == pytest.approx(inertia * omega**2, rel=1e-4)
    assert float(law.kv[0]) == pytest.approx(2.0 * inertia * omega, rel=1e-4)


def test_a_free_robot_gets_a_floor_and_stands_on_it(tmp_path: Path) -> None:
    model = written(
        tmp_path, mjcf(f'<freejoint/>{BOX}<body pos="0 0 .2"><joint name="j"/>{BOX}</body>')
    )
    scene = finished(model, tmp_path / "s.yaml")
    assert [a.name for a in scene.actors] == ["bot", "floor"]
    world = World(scene)
    assert world.data.ncon == 0
    assert watch(world, "bot").well


def test_joints_without_actuators_get_motors(tmp_path: Path) -> None:
    urdf = """<robot name="r"><link name="base"/><link name="l"><inertial><mass value="1"/>
    <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="swing" type="revolute"><parent link="base"/><child link="l"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="20" velocity="3"/></joint></robot>"""
    scene = finished(written(tmp_path, urdf, "r.urdf"), tmp_path / "s.yaml")
    robot = World(scene)["r"]
    assert [b.joint for b in robot.bindings] == ["swing"]


@pytest.mark.parametrize("rest", ["", 'actrange="-1 1"'], ids=["position", "intvelocity"])
def test_servos_keep_their_own_law(tmp_path: Path, rest: str) -> None:
    kind = "intvelocity" if rest else "position"
    servo = f'<actuator><{kind} joint="j" kp="9" {rest}/></actuator>'
    model = written(tmp_path, mjcf(f'<joint name="j"/>{BOX}', servo))
    assert "own law" in first_scene(model, tmp_path).notes[0]
    scene = finished(model, tmp_path / "s.yaml")
    assert not scene.actors[0].components
    world = World(scene)
    assert world.model.actuator_gainprm[0, 0] == 9.0


def test_a_joint_whose_zero_is_outside_its_range_starts_inside(tmp_path: Path) -> None:
    model = written(
        tmp_path,
        mjcf(f'<joint name="knee" range="-150 -48" limited="true"/>{BOX}',
             '<actuator><motor joint="knee"/></actuator>'),
    )  # fmt: skip
    world = World(finished(model, tmp_path / "s.yaml"))
    low, high = world.model.jnt_range[0]
    assert low <= world.data.qpos[0] <= high


@pytest.mark.parametrize(
    "body, rest",
    [
        (BOX, ""),
        (f'<joint type="ball"/>{BOX}', ""),
        (
            f'<joint name="a b[.*]"/>{BOX}',
            '<actuator><motor joint="a b[.*]" name="x: {y}, #z"/></actuator>',
        ),
        (
            f'<joint name="j"/>{BOX}',
            '<tendon><fixed name="t"><joint joint="j" coef="1"/></fixed></tendon>'
            '<actuator><motor tendon="t"/></actuator>',
        ),
        (
            f'<joint name="j" type="slide"/>{BOX}',
            '<actuator><motor joint="j" gear="-50"/></actuator>',
        ),
        (f'<joint name="j"/>{BOX}', '<actuator><motor joint="j" gear="0"/></actuator>'),
    ],
    ids=["no joint", "ball", "names with marks", "tendon only", "negative gear", "gear 0"],
)
def test_odd_models_get_a_scene_that_builds(tmp_path: Path, body: str, rest: str) -> None:
    scene = finished(written(tmp_path, mjcf(body, rest)), tmp_path / "s.yaml")
    world = World(scene)
    world.step(5)
    bare = mujoco.MjModel.from_xml_string(mjcf(body, rest))
    assert (world.model.nq, world.model.nbody) == (bare.nq, bare.nbody)
    assert len(world["bot"].actuators) == bare.actuator_gear.shape[0]


def test_the_command_writes_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "p.yaml"
    model = str(ASSETS / "pendulum" / "pendulum.xml")
    assert main(["new", model, "-o", str(target)]) == 0
    assert "wrote" in capsys.readouterr().out
    before = target.read_text()
    assert main(["new", model, "-o", str(target)]) == 1
    assert "--overwrite" in capsys.readouterr().err
    assert target.read_text() == before
    assert main(["new", model, "-o", str(target), "--overwrite"]) == 0
    assert target.read_text() == before


def test_what_is_no_model_is_refused_and_nothing_written(tmp_path: Path) -> None:
    wrong = written(tmp_path, "<mujoco><worldbody>")
    with pytest.raises(MjrigError):
        first_scene(wrong, tmp_path)
    assert main(["new", str(wrong), "-o", str(tmp_path / "x.yaml")]) == 1
    assert main(["new", str(tmp_path / "none.xml"), "-o", str(tmp_path / "x.yaml")]) == 1
    assert not (tmp_path / "x.yaml").exists()


@pytest.mark.parametrize("text", ["hello", "", "mjrig: 1\nactors: []\n", "# A page\n"])
def test_a_file_that_is_no_model_is_called_so(tmp_path: Path, text: str) -> None:
    wrong = written(tmp_path, text)
    with pytest.raises(MjrigError, match=regex("bot.xml: is no model; mjrig … MJCF")):
        first_scene(wrong, tmp_path)
