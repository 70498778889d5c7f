"""Carry the state of a running world over to another one, by name."""

from typing import Any

import mujoco
import numpy as np

from mjrig.control.articulation import Articulation
from mjrig.scene.pose import Rigid
from mjrig.sim.world import World

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}


def carry(old: World, new: World) -> None:
    """Put every actor of the new world that was in the old one into the state it had there.

    An actor whose pose was edited moves by that edit. Controllers that are the same keep their
    memory. Time continues.
    """
    new.adopt_time(old)
    for name, robot in new.articulations.items():
        if name in old.articulations:
            source = old.articulations[name]
            _carry_joints(old, new, source, robot)
            _carry_mocap(old, new, source, robot)
            _move_root(new, robot, source.model_map.origin, robot.model_map.origin)
            _carry_actuators(old, new, source, robot)
            _carry_memory(source, robot)
    mujoco.mj_forward(new.model, new.data)


def _ids_by_name(world: World, robot: Articulation) -> dict[str, int]:
    ids = robot.model_map.joint_ids
    return dict(zip(robot.joint_names, map(int, ids), strict=True))


def _carry_joints(old: World, new: World, source: Articulation, robot: Articulation) -> None:
    before, after = _ids_by_name(old, source), _ids_by_name(new, robot)
    for name, i in after.items():
        j = before.get(name)
        if j is None or old.model.jnt_type[j] != new.model.jnt_type[i]:
            continue
        nq, nv = _SIZES[int(new.model.jnt_type[i])]
        q, p = int(new.model.jnt_qposadr[i]), int(old.model.jnt_qposadr[j])
        v, u = int(new.model.jnt_dofadr[i]), int(old.model.jnt_dofadr[j])
        new.data.qpos[q : q + nq] = old.data.qpos[p : p + nq]
        new.data.qvel[v : v + nv] = old.data.qvel[u : u + nv]


def _carry_mocap(old: World, new: World, source: Articulation, robot: Articulation) -> None:
    before, after = _mocap_by_name(old, source), _mocap_by_name(new, robot)
    for name in after.keys() & before.keys():
        new.data.mocap_pos[after[name]] = old.data.mocap_pos[before[name]]
        new.data.mocap_quat[after[name]] = old.data.mocap_quat[before[name]]


def _mocap_by_name(world: World, robot: Articulation) -> dict[str, int]:
    model, prefix = world.model, robot.model_map.prefix
    bodies = {int(m): np.flatnonzero(model.body_mocapid == m)[0] for m in robot.model_map.mocap}
    return {model.body(int(b)).name.removeprefix(prefix): m for m, b in bodies.items()}


def _move_root(world: World, robot: Articulation, before: Rigid, after: Rigid) -> None:
    """Free roots and mocap bodies follow an edit of the actor's pose."""
    if all(map(np.array_equal, before, after)):
        return
    shift = after.then(before.inverse())
    model, data = world.model, world.data
    for joint in robot.model_map.joint_ids:
        if int(model.jnt_type[joint]) == _FREE:
            q = int(model.jnt_qposadr[joint])
            root = Rigid(data.qpos[q : q + 3].copy(), data.qpos[q + 3 : q + 7].copy())
            data.qpos[q : q + 3], data.qpos[q + 3 : q + 7] = shift.then(root)
    for m in robot.model_map.mocap:
        root = Rigid(data.mocap_pos[m].copy(), data.mocap_quat[m].copy())
        data.mocap_pos[m], data.mocap_quat[m] = shift.then(root)


def _carry_actuators(old: World, new: World, source: Articulation, robot: Articulation) -> None:
    """Setpoints, ctrl and activations of the actuators both have.

    A setpoint that was an effort is no position, and the other way round: where a law was added or
    removed, it starts from the pose.
    """
    changed = robot.followers ^ source.followers
    ours = {name: i for i, name in enumerate(robot.actuator_names)}
    for i, name in enumerate(source.actuator_names):
        if name in ours and name not in changed:
            robot.setpoints.values[:, ours[name]] = source.setpoints.values[:, i]
    robot.seed(changed)
    for name, values in robot.setpoints.input_values.items():
        before = source.setpoints.input_values.get(name)
        if before is not None and before.shape == values.shape:
            values[:] = before
    theirs = {b.actuator: b.actuator_id for b in source.actuators}
    for binding in robot.actuators:
        if binding.actuator in theirs:
            _carry_ctrl(old, new, theirs[binding.actuator], binding.actuator_id)
            _carry_activation(old, new, theirs[binding.actuator], binding.actuator_id)
    robot.setpoints.touch()


def _carry_ctrl(old: World, new: World, j: int, i: int) -> None:
    """What a controller that does not run in every step holds until its next turn."""
    count = int(new.model.actuator_ctrlnum[i])
    if count and int(old.model.actuator_ctrlnum[j]) == count:
        a, b = int(new.model.actuator_ctrladr[i]), int(old.model.actuator_ctrladr[j])
        new.data.ctrl[a : a + count] = old.data.ctrl[b : b + count]


def _carry_activation(old: World, new: World, j: int, i: int) -> None:
    count = int(new.model.actuator_actnum[i])
    if count and int(old.model.actuator_actnum[j]) == count:
        a, b = int(new.model.actuator_actadr[i]), int(old.model.actuator_actadr[j])
        new.data.act[a : a + count] = old.data.act[b : b + count]


def _carry_memory(source: Articulation, robot: Articulation) -> None:
    """Memory of the components that are the same in both; a hold continues."""
    before: dict[str, Any] = {c.role: c for c in source.components}
    for component in robot.components:
        other = before.get(component.role)
        if other is None or type(other) is not type(component):
            continue
        names = [[b.actuator for b in getattr(c, "bindings", ())] for c in (other, component)]
        if names[0] == names[1] and other.full_signature() == component.full_signature():
            component.take_back(other.full_memory())
    if source.held and source.held in robot.keyframes:
        robot.hold(source.held)
