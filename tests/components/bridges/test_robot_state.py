"""RobotState: what the process of a bridge computes, against MuJoCo's own sensors."""

import pickle
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import mjrig
from mjrig.components.bridges.dds_bridge import RawState
from mjrig.components.bridges.motors import Motors

MODEL = """<mujoco><worldbody>
  <body name="cart"><joint name="rail" type="slide"/><geom size="0.1"/></body>
  <body name="base" pos="0 0 1">{free}<geom size="0.1 0.2 0.3" type="box"/>
    <site name="imu" quat="{turn}"/>
    <body pos="0.3 0 0"><joint name="a" axis="0 1 0" actuatorfrcrange="-2 1"/>
      <geom size="0.1" pos="0.1 0 0"/>
      <body pos="0.3 0 0" gravcomp="0.1"><joint name="b" axis="1 1 0" actuatorfrcrange="-4 4"
        actuatorgravcomp="true"/><geom size="0.1" pos="0.1 0 0"/></body>
    </body></body></worldbody>
  <actuator><motor name="b" joint="b" gear="3"/><motor name="rail" joint="rail"/>
    <motor name="a" joint="a" gear="2"/><motor name="a2" joint="a"/></actuator>
  <sensor><framequat objtype="site" objname="imu"/><gyro site="imu"/>{accelerometer}</sensor>
</mujoco>"""
ACCELEROMETER = '<accelerometer name="acc" site="imu"/>'


def made(folder: Path, free: str, turn: str, accelerometer: str) -> Any:
    text = MODEL.format(free=free, turn=turn, accelerometer=accelerometer)
    (folder / "m.xml").write_text(text)
    (folder / "s.yaml").write_text("mjrig: 1\nactors:\n  - name: r\n    model: m.xml\n")
    return mjrig.World(folder / "s.yaml")


def shaken(world: Any, seed: int) -> None:
    """A state without any symmetry, with everything that is derived from it."""
    rng, data = np.random.default_rng(seed), world.data
    data.qpos[:] += rng.normal(0, 0.3, len(data.qpos))
    mujoco.mj_normalizeQuat(world.model, data.qpos)
    data.qvel[:] = rng.normal(0, 1, len(data.qvel))
    data.ctrl[:] = rng.normal(0, 3, len(data.ctrl))
    mujoco.mj_forward(world.model, data)


@pytest.mark.parametrize("turn", ["1 0 0 0", "0.5 0.5 -0.5 0.5", "0.1 0.2 -0.3 0.9"])
@pytest.mark.parametrize("sensed", [True, False])
def test_base_and_joints_are_those_of_mujocos_sensors(
    tmp_path: Path, turn: str, sensed: bool
) -> None:
    for seed in range(3):
        truth = made(tmp_path, "<freejoint/>", turn, ACCELEROMETER)
        world = made(tmp_path, "<freejoint/>", turn, ACCELEROMETER if sensed else "")
        for each in (truth, world):
            shaken(each, seed)
        robot, data = world["r"], world.data
        motors = Motors(robot, [b for b in robot.bindings if b.on_joint], "test", strict=False)
        raw = RawState(robot, motors, "imu", extra=2)
        reader = pickle.loads(pickle.dumps(raw.reader))  # as the other process gets it
        frame = np.array(raw.read())
        assert len(frame) == reader.size and frame[0] == data.time
        body, sensors = reader.body(frame), truth.data.sensordata
        if body[:4] @ sensors[:4] < 0.0:
            body[:4] *= -1.0
        assert np.allclose(body[:4], sensors[:4], atol=1e-12)
        assert np.allclose(body[4:7], sensors[4:7], atol=1e-12)
        assert np.allclose(body[7:10], sensors[7:10], atol=1e-9)
        first = world.model.joint("r/base").qposadr[0] if "r/base" in _names(world) else 1
        assert np.array_equal(body[10:13], data.qpos[first : first + 3])
        assert np.array_equal(reader.orientation(frame), data.qpos[first + 3 : first + 7])
        q, dq, ddq, effort = reader.joints(frame)
        for k, binding in enumerate(motors.bindings):
            joint = world.model.joint(f"r/{binding.joint}")
            assert q[k] == data.qpos[joint.qposadr[0]] and dq[k] == data.qvel[joint.dofadr[0]]
            assert ddq[k] == data.qacc[joint.dofadr[0]]
        assert np.allclose(effort, robot.applied_effort, atol=1e-12)


def _names(world: Any) -> list[str]:
    return [world.model.joint(i).name for i in range(world.model.njnt)]


def test_a_fixed_base_is_upright_and_at_rest(tmp_path: Path) -> None:
    world = made(tmp_path, "", "1 0 0 0", "")
    robot = world["r"]
    raw = RawState(robot, Motors(robot, list(robot.bindings), "test", strict=False), "imu")
    body = raw.reader.body(np.array(raw.read()))
    assert body.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 9.81, 0, 0, 0, 0, 0, 0]
