"""What a running world was in is carried into the next one, by name."""

from pathlib import Path

import numpy as np
import pytest

from mjrig.core.arrays import FloatArray
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.state_transfer import carry
from mjrig.core.sim.world import World
from mjrig.editor.session.session import Session
from mjrig.editor.session.simulation import Simulation
from tests.editor.windows import SWINGS
from tests.places import SCENES

#: A free base, a mocap target, a muscle-like actuator with an activation, and a keyframe.
ROVER = """<mujoco><worldbody>
<body name="target" mocap="true" pos="0 0 1"><geom size=".05" contype="0" conaffinity="0"/></body>
<body name="base"><freejoint name="root"/><geom size=".1"/>
<body name="arm" pos="0 0 .3"><joint name="swing" axis="0 1 0"/><geom size=".05"/></body></body>
</worldbody><actuator><general name="slow" joint="swing" dyntype="filter" dynprm="0.5"/></actuator>
<keyframe><key name="home" qpos="0 0 0 1 0 0 0 0.5" mpos="0 0 1" mquat="1 0 0 0"/></keyframe>
</mujoco>"""
TOOL = """<mujoco><worldbody><body name="tool"><joint name="wrist" axis="1 0 0"/><geom size=".02"/>
</body></worldbody><actuator><motor name="wrist" joint="wrist"/></actuator></mujoco>"""
TEXT = """\
mjrig: 1
sim: {gravity: [0, 0, 0], timestep: 0.001}
actors:
  - {name: rover, model: rover.xml}
  - name: tool
    model: tool.xml
    attach: {to: rover/arm}
    components:
      - {type: PDController, kp: 3, kv: 0.1, delay: {steps: 5}, decimation: 4}
"""


@pytest.fixture
def session(tmp_path: Path) -> Session:
    (tmp_path / "rover.xml").write_text(ROVER)
    (tmp_path / "tool.xml").write_text(TOOL)
    scene = Scene.parse(TEXT, tmp_path)
    made = Session(scene, Simulation(World(scene, "python")))
    world = made.simulation.world
    world["tool"].set_targets({".*": 0.4})
    world["rover"].set_targets({".*": 0.8})
    world.data.qvel[:] = 0.1 * np.arange(1, world.model.nv + 1)
    world.data.mocap_pos[0] = [0.3, 0.2, 1.1]
    made.simulation.advance(103)
    return made


def _qpos(world: World, actor: str) -> FloatArray:
    values: FloatArray = world.data.qpos[world[actor].model_map.qpos]
    return values


def _qvel(world: World, actor: str) -> FloatArray:
    values: FloatArray = world.data.qvel[world[actor].model_map.dof]
    return values


def _add(session: Session) -> World:
    """A structural edit that has nothing to do with the two."""
    with session.edit("Add") as scene:
        scene.add_actor("third", model="tool.xml", pose={"position": [0, 4, 0]})
    return session.simulation.world


def test_state_setpoints_activation_and_memory_go_on_exactly(session: Session) -> None:
    old = session.simulation.world
    snapshot = old.snapshot()
    for name in old.articulations:
        old[name].setpoints.touch()
    new = _add(session)
    assert new is not old
    assert new.time == old.time
    assert new.steps == old.steps == 103
    for name in ("rover", "tool"):
        assert len(_qpos(old, name))
        assert np.array_equal(_qpos(new, name), _qpos(old, name))
        assert np.array_equal(_qvel(new, name), _qvel(old, name))
        assert np.array_equal(new[name].setpoints.values, old[name].setpoints.values)
    assert old.data.act[0] != 0.0
    assert new.data.act[0] == old.data.act[0]
    assert np.array_equal(new.data.mocap_pos[0], [0.3, 0.2, 1.1])
    count = old.model.nu
    assert old.data.ctrl.any()
    assert np.array_equal(new.data.ctrl[:count], old.data.ctrl)
    old.restore(snapshot)
    old.step(200)
    new.step(200)
    for name in ("rover", "tool"):
        # The third actor shares the solver, not the motion.
        assert _qpos(new, name) == pytest.approx(_qpos(old, name), abs=1e-9)


def test_a_hold_goes_on(session: Session) -> None:
    session.simulation.world["rover"].hold("home")
    new = _add(session)
    assert new["rover"].held == "home"


def test_a_renamed_actor_starts_fresh_and_the_others_go_on(session: Session) -> None:
    old = session.simulation.world
    with session.edit("Rename") as scene:
        scene.rename("rover", "car")
    new = session.simulation.world
    assert np.array_equal(_qpos(new, "car"), [0, 0, 0, 1, 0, 0, 0, 0])
    assert not np.array_equal(_qpos(old, "rover"), _qpos(new, "car"))
    assert np.array_equal(_qpos(new, "tool"), _qpos(old, "tool"))


def test_a_moved_actor_takes_its_root_and_its_mocap_bodies_along(session: Session) -> None:
    old = session.simulation.world
    session.set("rover.pose.position", [2, 0, 0])
    new = session.simulation.world
    assert new.data.qpos[:3] - old.data.qpos[:3] == pytest.approx([2, 0, 0])
    assert new.data.mocap_pos[0] == pytest.approx([2.3, 0.2, 1.1])
    assert np.array_equal(_qpos(new, "tool"), _qpos(old, "tool"))


def test_joints_of_another_kind_start_as_described(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(TOOL)
    slide = TOOL.replace('name="wrist" axis', 'name="wrist" type="slide" axis', 1)
    (tmp_path / "b.xml").write_text(slide)
    old = World(Scene.parse("mjrig: 1\nactors: [{name: t, model: a.xml}]\n", tmp_path), "python")
    new = World(Scene.parse("mjrig: 1\nactors: [{name: t, model: b.xml}]\n", tmp_path), "python")
    old.data.qpos[:] = 0.7
    carry(old, new)
    assert new.data.qpos[0] == 0.0


def test_components_of_another_kind_start_without_memory() -> None:
    old = World(Scene.parse(SWINGS), "python")
    old["left"].set_targets({".*": 0.3})
    old.step(50)
    other = SWINGS.replace("kp: 10, kv: 0.5}", "kp: 10, kv: 0.5, delay: {steps: 3}}")
    new = World(Scene.parse(other), "python")
    carry(old, new)
    new.step(5)
    assert new.time == pytest.approx(old.time + 5 * new.timestep)


@pytest.mark.parametrize("moved", [0, 40])
def test_a_law_that_is_added_or_removed_starts_from_the_pose(moved: int) -> None:
    """Efforts of bare motors are no positions: a robot just built stands, it keeps its pose."""
    scene = Scene.load(SCENES / "quadruped.yaml")
    described = scene["quadruped"].components[0].to_data()
    scene.remove("quadruped.PDController")
    made = Session(scene, Simulation(World(scene)))
    simulation = made.simulation
    simulation.advance(moved)
    pose = _qpos(simulation.world, "quadruped")[7:].copy()
    assert abs(pose).max() > 0.5
    with made.edit("Add PDController") as edited:
        edited["quadruped"].components = [described]
    robot = simulation.world["quadruped"]
    np.testing.assert_array_equal(robot.setpoints.position, pose)
    assert not robot.setpoints.velocity.any()
    if not moved:
        simulation.advance(1500)
        assert simulation.world.data.qpos[2] > 0.25  # it stands
    made.undo()
    assert not simulation.world["quadruped"].setpoints.values.any()
