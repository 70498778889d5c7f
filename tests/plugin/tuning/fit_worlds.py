"""Small robots with known parameters, and recordings of them in memory."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

import mjrig
from mjrig.property_kinds import FloatArray
from mjrig.recording.recording import ActorRecording, Commands, JointColumns, Recording

#: One hinge that swings under its motor.
SWING = """
<mujoco>
  <option timestep="0.002" integrator="Euler"/>
  <worldbody>
    <body>
      <joint name="swing" axis="0 1 0" armature="0.01" damping="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.4" size="0.02" mass="1"/>
    </body>
  </worldbody>
  <actuator><motor name="swing" joint="swing"/></actuator>
</mujoco>"""

KINDS = {0: ("free", 7, 6), 1: ("ball", 4, 3), 2: ("slide", 1, 1), 3: ("hinge", 1, 1)}
Command = Callable[[float, FloatArray], None]


def swing(folder: Path, controller: str = "PDController", **gains: object) -> mjrig.Scene:
    """A scene with the hinge under PD: what a fit begins with, unless gains are given."""
    (folder / "swing.xml").write_text(SWING)
    scene = mjrig.Scene.parse(
        f"""
mjrig: 1
actors:
  - name: robot
    model: swing.xml
    components:
      - {{type: {controller}, kp: 40, kv: 2, torque_limit: 100}}
""",
        folder,
    )
    for path, value in gains.items():
        scene.set(f"robot.{path.replace('__', '.')}", value)
    return scene


def with_others(scene: mjrig.Scene, values: Mapping[str, object]) -> mjrig.Scene:
    """A copy of a scene with other values, by path."""
    other = mjrig.Scene.parse(scene.to_text(), scene.base)
    for path, value in values.items():
        other.set(path, value)
    return other


def record(world: mjrig.World, command: Command | None, duration: float) -> Recording:
    """What the only actor does under a command (time, setpoints) → None; None: its own."""
    (robot,) = world.articulations.values()
    where, base = robot.model_map, robot.setpoints.values.copy()
    steps = round(duration / world.timestep)
    qpos, qvel, commands = [], [], []
    for k in range(steps + 1):
        qpos.append(world.data.qpos[where.qpos].copy())
        qvel.append(world.data.qvel[where.dof].copy())
        if k < steps:
            if command is not None:
                robot.setpoints.values[:] = base
                command(k * world.timestep, robot.setpoints.values)
            world.step()
            commands.append(robot.setpoints.values.copy())
    table = np.array(commands)
    share = ActorRecording(
        robot.name,
        _joints(world, robot),
        np.arange(steps + 1),
        np.asarray(np.arange(steps + 1) * world.timestep, dtype=np.float64),
        np.array(qpos),
        np.array(qvel),
        robot.actuator_names,
        tuple(b.joint for b in robot.actuators),
        Commands(np.arange(steps), table[:, 0], table[:, 1], table[:, 2]),
    )
    return Recording(Path("walk.h5"), "mjrig", world.timestep, steps, {robot.name: share})


def _joints(world: mjrig.World, robot: mjrig.Articulation) -> tuple[JointColumns, ...]:
    found, q, v = [], 0, 0
    for name, joint in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        kind, nq, nv = KINDS[int(world.model.jnt_type[joint])]
        found.append(JointColumns(name, kind, slice(q, q + nq), slice(v, v + nv)))
        q, v = q + nq, v + nv
    return tuple(found)


def edited(recording: Recording, **changes: object) -> Recording:
    """The same with something else in the share of its only actor."""
    from dataclasses import replace

    ((name, share),) = recording.actors.items()
    return replace(recording, actors={name: replace(share, **changes)})  # type: ignore[arg-type]


def noisy(
    recording: Recording, seed: int, position: float, velocity: float, memory: float = 0.0
) -> Recording:
    """The same, measured with noise [rad or m, and per s]; `memory` correlates it over samples."""
    random = np.random.default_rng(seed)
    (share,) = recording.actors.values()
    qpos, qvel = share.qpos.copy(), np.array(share.qvel)
    qpos += position * _noise(random, qpos.shape, memory)
    qvel += velocity * _noise(random, qvel.shape, memory)
    for joint in share.joints:
        if joint.kind == "free":
            turn = qpos[:, joint.qpos][:, 3:]
            turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    return edited(recording, qpos=qpos, qvel=qvel)


def _noise(random: np.random.Generator, shape: tuple[int, ...], memory: float) -> FloatArray:
    white = random.normal(size=shape)
    if not memory:
        return white
    for k in range(1, len(white)):
        white[k] = memory * white[k - 1] + np.sqrt(1.0 - memory**2) * white[k]
    return white


def chirp(amplitude: float, start: float, end: float, duration: float) -> Command:
    """All position setpoints swing ever faster [rad or m, Hz, s]; joints out of step."""

    def command(time: float, setpoints: FloatArray) -> None:
        cycles = (start + 0.5 * (end - start) * time / duration) * time
        phases = np.arange(setpoints.shape[1])
        setpoints[0] += amplitude * (np.sin(2.0 * np.pi * cycles + phases) - np.sin(phases))

    return command
