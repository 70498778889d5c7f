"""Small robots with known parameters, and recordings of them in memory."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

import mjrig
from mjrig.core.arrays import FloatArray
from mjrig.data.recording.recording import ActorRecording, JointColumns, RecordedCommands, Recording

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

#: A box on the ground, with a mass that swings on it.
TUMBLER = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 0.1"/>
    <body name="box" pos="0 0 0.1">
      <freejoint name="root"/>
      <geom type="box" size="0.1 0.1 0.1" mass="2"/>
      <body pos="0 0 0.1">
        <joint name="swing" axis="0 1 0" armature="0.01" damping="0.05"/>
        <geom type="capsule" fromto="0 0 0.05 0 0 0.3" size="0.02" mass="0.3"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="swing" joint="swing"/></actuator>
</mujoco>"""

KINDS = {0: ("free", 7, 6), 1: ("ball", 4, 3), 2: ("slide", 1, 1), 3: ("hinge", 1, 1)}
Command = Callable[[float, FloatArray], None]


def swing(
    folder: Path, controller: str = "PDController", model: str = SWING, **gains: object
) -> mjrig.Scene:
    """A scene with the hinge under PD: what a fit begins with, unless gains are given."""
    (folder / "swing.xml").write_text(model)
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
        RecordedCommands(np.arange(steps), table[:, 0], table[:, 1], table[:, 2]),
    )
    return Recording(Path("walk.h5"), "mjrig", world.timestep, steps, {robot.name: share})


def taken(world: mjrig.World, folder: Path, command: Command | None, steps: int) -> Recording:
    """What the recorder takes down, efforts included, of all actors; commands go to each."""
    base = {r.name: r.setpoints.values.copy() for r in world.articulations.values()}
    began = world.time
    with mjrig.Recorder(world, folder / "walk.h5", overwrite=True):
        for _ in range(steps):
            if command is not None:
                for name, start in base.items():
                    values = start.copy()
                    command(world.time - began, values)
                    world[name].setpoints.values[:] = values
            world.step()
    return mjrig.read_recording(folder / "walk.h5")


def with_efforts(recording: Recording, change: Callable[[FloatArray], FloatArray]) -> Recording:
    """The same with other efforts of its only actor, and none before clamps."""
    (share,) = recording.actors.values()
    assert share.efforts is not None
    efforts = replace(share.efforts, effort=change(share.efforts.effort), raw=None)
    return edited(recording, efforts=efforts)


def measured(
    recording: Recording, seed: int, noise: tuple[float, float, float], memory: float = 0.0
) -> Recording:
    """The same with noise in positions, velocities and efforts [rad, rad/s, N·m]."""
    random = np.random.default_rng([seed, 1])
    other = noisy(recording, seed, noise[0], noise[1], memory)
    return with_efforts(other, lambda e: e + noise[2] * _noise(random, e.shape, memory))


def _joints(world: mjrig.World, robot: mjrig.Articulation) -> tuple[JointColumns, ...]:
    found, q, v = [], 0, 0
    for name, joint in zip(robot.joint_names, robot.model_map.joint_ids, strict=True):
        kind, nq, nv = KINDS[int(world.model.jnt_type[joint])]
        found.append(JointColumns(name, kind, slice(q, q + nq), slice(v, v + nv)))
        q, v = q + nq, v + nv
    return tuple(found)


def edited(recording: Recording, **changes: object) -> Recording:
    """The same with something else in the share of its only actor."""
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
