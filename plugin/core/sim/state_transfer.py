"""Transfer of a running world's state to another world, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.scene.pose import Rigid
from mjrig.core.sim.world import World

_FREE = int(mujoco.mjtJoint.mjJNT_FREE)
_SIZES = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}


@dataclass(frozen=True)
class KeptActor:
    """What one actor did: coordinates and velocities by joint, setpoints by actuator."""

    joints: Mapping[str, tuple[FloatArray, FloatArray]]
    setpoints: Mapping[str, FloatArray]


_UNKNOWN = KeptActor({}, {})
#: The actors of a world, by name.
Kept = Mapping[str, KeptActor]


def left_behind(old: World, new: World) -> Kept:
    """What `carry` loses on the way to another world, for an undo that leads back.

    That is the state of actors the new world does not have, and setpoints that mean something else.
    """
    found: dict[str, KeptActor] = {}
    for name, robot in old.articulations.items():
        whole = _kept(old, robot)
        if name not in new.articulations:
            found[name] = whole
            continue
        after = new.articulations[name]
        lost = _changed(robot, after) | (set(robot.actuator_names) - set(after.actuator_names))
        if lost:
            setpoints = {n: row for n, row in whole.setpoints.items() if n in lost}
            found[name] = KeptActor({}, setpoints)
    return found


def _kept(world: World, robot: Articulation) -> KeptActor:
    data, setpoints = world.data, robot.setpoints.values.T.copy()
    joints = {
        name: (data.qpos[q].copy(), data.qvel[v].copy())
        for name, (q, v) in _slices(world, robot).items()
    }
    return KeptActor(joints, dict(zip(robot.actuator_names, setpoints, strict=True)))


def carry(old: World, new: World, kept: Kept | None = None) -> None:
    """Put every actor of the new world that was in the old one into the state it had there.

    An actor whose pose was edited moves by that edit. Controllers that are the same keep their
    memory. Time continues.

    Args:
        old, new: the worlds.
        kept: from when the scene was as it is again now: setpoints of the actuators whose present
            ones mean something else, and the state of actors that were gone meanwhile.
    """
    new.adopt_time(old)
    for name, robot in new.articulations.items():
        if name in old.articulations:
            source = old.articulations[name]
            _carry_joints(old, new, source, robot)
            _carry_mocap(old, new, source, robot)
            _move_root(new, robot, source.model_map.origin, robot.model_map.origin)
            _carry_setpoints(source, robot, (kept or {}).get(name, _UNKNOWN).setpoints)
            _carry_actuators(old, new, source, robot)
            _carry_memory(source, robot)
        elif kept and name in kept:
            _bring_back(new, robot, kept[name])
    mujoco.mj_forward(new.model, new.data)


def _bring_back(world: World, robot: Articulation, kept: KeptActor) -> None:
    """Put an actor into the state it had before it was removed."""
    for name, (q, v) in _slices(world, robot).items():
        qpos, qvel = kept.joints.get(name, ((), ()))
        if (len(qpos), len(qvel)) == (q.stop - q.start, v.stop - v.start):
            world.data.qpos[q], world.data.qvel[v] = qpos, qvel
    for i, name in enumerate(robot.actuator_names):
        if name in kept.setpoints:
            robot.setpoints.values[:, i] = kept.setpoints[name]
    robot.setpoints.touch()


def _slices(world: World, robot: Articulation) -> dict[str, tuple[slice, slice]]:
    """Where the coordinates and velocities of each joint are."""
    found = {}
    model = world.model
    for name, i in zip(robot.joint_names, map(int, robot.model_map.joint_ids), strict=True):
        nq, nv = _SIZES[int(model.jnt_type[i])]
        q, v = int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i])
        found[name] = (slice(q, q + nq), slice(v, v + nv))
    return found


def _carry_joints(old: World, new: World, source: Articulation, robot: Articulation) -> None:
    before, after = _slices(old, source), _slices(new, robot)
    kinds, types = _types(old, source), _types(new, robot)
    for name, (q, v) in after.items():
        if name in before and kinds[name] == types[name]:
            new.data.qpos[q] = old.data.qpos[before[name][0]]
            new.data.qvel[v] = old.data.qvel[before[name][1]]


def _types(world: World, robot: Articulation) -> dict[str, int]:
    kinds = world.model.jnt_type[robot.model_map.joint_ids]
    return dict(zip(robot.joint_names, map(int, kinds), strict=True))


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


def _changed(source: Articulation, robot: Articulation) -> frozenset[str]:
    """The actuators of a robot whose setpoints mean something else than in another world."""
    kinds = {b.actuator: b.kind for b in source.actuators}
    others = {b.actuator for b in robot.actuators if kinds.get(b.actuator) != b.kind}
    return (robot.followers ^ source.followers) | (others - robot.followers)


def _carry_setpoints(
    source: Articulation, robot: Articulation, kept: Mapping[str, FloatArray]
) -> None:
    """Setpoints of the actuators both have.

    A setpoint that was an effort is no position, and the other way round: where a law was added or
    removed, positions are asked for in the units of the new law or servo; else those kept from
    before hold again, and without any it starts from the pose.
    """
    changed = _changed(source, robot)
    ours = {name: i for i, name in enumerate(robot.actuator_names)}
    for i, name in enumerate(source.actuator_names):
        if name in ours and name not in changed:
            robot.setpoints.values[:, ours[name]] = source.setpoints.values[:, i]
    wanted = source.wanted_positions()
    asked = robot.ask_for({name: wanted[name] for name in changed & wanted.keys()})
    robot.seed(changed - asked)
    for name in (changed - asked) & ours.keys() & kept.keys():
        robot.setpoints.values[:, ours[name]] = kept[name]


def _carry_actuators(old: World, new: World, source: Articulation, robot: Articulation) -> None:
    """Inputs, ctrl and activations of the actuators both have."""
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
