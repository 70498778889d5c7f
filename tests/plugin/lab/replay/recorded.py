"""Recordings in memory, made by stepping a small world, and the worlds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

import mjrig
from mjrig.components import PDController
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.data.recording.recording import (
    ActorRecording,
    Efforts,
    IntegrationStates,
    JointColumns,
    RecordedCommands,
    Recording,
)
from mjrig.lab.replay.matching import joints_of
from tests.worlds import make_world

#: Two legs of two joints under a free base, so that sides, orders and bases can be told apart.
BIPED = """
<mujoco>
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002"/>
  <default>
    <joint axis="0 1 0" armature="0.02" damping="0.2" range="-2 2"/>
    <geom type="capsule" size="0.03" mass="0.5"/>
    <motor ctrlrange="-40 40"/>
  </default>
  <worldbody>
    <geom type="plane" size="5 5 0.1"/>
    <body name="trunk" pos="0 0 0.62">
      <freejoint name="root"/>
      <geom type="box" size="0.15 0.2 0.05" mass="4"/>
      <body name="left_thigh" pos="0 0.15 0">
        <joint name="left_hip"/>
        <geom fromto="0 0 0 0 0 -0.3"/>
        <body name="left_shin" pos="0 0 -0.3">
          <joint name="left_knee"/>
          <geom fromto="0 0 0 0 0 -0.25"/>
          <geom type="box" size="0.2 0.08 0.02" pos="0.02 0 -0.27"/>
        </body>
      </body>
      <body name="right_thigh" pos="0 -0.15 0">
        <joint name="right_hip"/>
        <geom fromto="0 0 0 0 0 -0.3"/>
        <body name="right_shin" pos="0 0 -0.3">
          <joint name="right_knee"/>
          <geom fromto="0 0 0 0 0 -0.25"/>
          <geom type="box" size="0.2 0.08 0.02" pos="0.02 0 -0.27"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="left_hip" joint="left_hip"/>
    <motor name="left_knee" joint="left_knee"/>
    <motor name="right_hip" joint="right_hip"/>
    <motor name="right_knee" joint="right_knee"/>
  </actuator>
</mujoco>"""

Drive = Callable[[int, mjrig.World], object]
_STATE = mujoco.mjtState.mjSTATE_INTEGRATION


def biped(kp: Any = 80.0, kv: Any = 3.0, **more: Any) -> mjrig.World:
    """A world with the biped as `robot`."""
    xml = more.pop("xml", BIPED)
    return make_world(xml, [PDController(kp=kp, kv=kv)], **more)


def wave(step: int, world: mjrig.World) -> None:
    """New targets every tenth step, another motion for every joint."""
    if step % 10 == 0:
        t = step * world.timestep
        for robot in world.articulations.values():
            n = len(robot.actuator_names)
            phase, size = np.arange(n), 0.1 + 0.08 * np.arange(n)
            robot.set_targets(size * np.sin(2 * np.pi * (1.0 + 0.3 * phase) * t + phase))


def from_world(world: mjrig.World, steps: int, drive: Drive = wave, **about: Any) -> Recording:
    """What happens in so many steps, every step of it."""
    world.reset()
    robots = world.articulations
    plants = {n: plant_of(world, r) for n, r in robots.items()}
    state = np.empty(mujoco.mj_stateSize(world.model, _STATE))
    mujoco.mj_getState(world.model, world.data, state, _STATE)
    qpos, qvel = [world.data.qpos.copy()], [world.data.qvel.copy()]
    targets: dict[str, list[Any]] = {n: [] for n in robots}
    efforts: dict[str, list[Any]] = {n: [] for n in robots}
    for k in range(steps):
        drive(k, world)
        world.step()
        qpos.append(world.data.qpos.copy())
        qvel.append(world.data.qvel.copy())
        for name, robot in robots.items():
            targets[name].append(robot.setpoints.values.copy())
            force = world.data.actuator_force
            bindings = [b for b in robot.actuators if b.output_count == 1]
            efforts[name].append([b.gear * force[b.output_address] for b in bindings])
    step = np.arange(steps + 1, dtype=np.int64)
    actors = {}
    for name, robot in robots.items():
        rows = np.array(targets[name]).reshape(steps, 3, -1)
        drives = {b.actuator: b.joint for b in robot.actuators}
        columns = [JointColumns(j.name, j.kind, j.qpos, j.dof) for j in joints_of(world, robot)]
        actors[name] = ActorRecording(
            name=name,
            joints=tuple(columns),
            step=step,
            time=np.multiply(step, world.timestep, dtype=np.float64),
            qpos=np.array(qpos),
            qvel=np.array(qvel),
            actuators=robot.actuator_names,
            driven=tuple(drives[a] for a in robot.actuator_names),
            commands=RecordedCommands(step[:-1], rows[:, 0], rows[:, 1], rows[:, 2]),
            efforts=Efforts(step[:-1], np.array(efforts[name]).reshape(steps, -1)),
            plant=plants[name],
        )
    return Recording(
        path=Path("run.h5"),
        format="mjrig",
        timestep=world.timestep,
        steps=steps,
        actors=actors,
        states=IntegrationStates(np.zeros(1, np.int64), state[None]),
        **about,
    )


def tick_arrays(steps: int = 100, every: int = 10) -> dict[str, Any]:
    """A run of the biped as the arrays of a tick file."""
    world = biped()
    run = from_world(world, steps)
    actor = run.actors["robot"]
    assert actor.commands is not None and actor.qvel is not None and actor.efforts is not None
    ticks = np.arange(0, steps, every)
    joints = ["left_hip", "left_knee", "right_hip", "right_knee"]
    meta = {
        "robot": "biped",
        "timestep": 0.002,
        "decimation": every,
        "n_physics_steps": steps,
        "nq": 11,
        "nv": 10,
        "kp": [80.0] * 4,
        "kd": [3.0] * 4,
        "torque_limit": [40.0] * 4,
        "default_pos": [0.0] * 4,
        "action_scale": 0.5,
        "joint_names_policy": joints,
        "joint_names_mj": [None, *joints],
        "actuator_names": joints,
        "tau_dofs": [6, 7, 8, 9],
        "integrator": "mjINT_EULER",
    }
    return {
        "meta": json.dumps(meta),
        "policy_step": ticks.astype(np.int32),
        "policy_target": actor.commands.position[ticks],
        "tick_qpos": actor.qpos[ticks],
        "tick_qvel": actor.qvel[ticks],
        "qpos0": actor.qpos[0],
        "qvel0": actor.qvel[0],
        "final_qpos": actor.qpos[-1],
        "final_qvel": actor.qvel[-1],
        "head_time": actor.time[:31],
        "head_qpos": actor.qpos[:31],
        "head_qvel": actor.qvel[:31],
        "head_tau": actor.efforts.effort[:30],
    }


def write_ticks(path: Path, **changes: Any) -> Path:
    """A tick file; `changes` replace arrays, None leaves one out, `meta_…` replaces a key."""
    arrays = tick_arrays()
    meta = json.loads(arrays["meta"])
    for name, value in changes.items():
        if name.startswith("meta_"):
            meta[name.removeprefix("meta_")] = value
        else:
            arrays[name] = value
    meta = {k: v for k, v in meta.items() if v != "gone"}
    if "meta" not in changes:
        arrays["meta"] = json.dumps(meta)
    np.savez(path, **{n: a for n, a in arrays.items() if a is not None})
    return path
