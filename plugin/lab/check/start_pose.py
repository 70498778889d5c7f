"""Pre-flight: can the robot hold the pose it starts in?"""

import math
from collections.abc import Container, Iterator
from typing import Any

import mujoco
import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import effort_limit
from mjrig.core.findings import Finding, Remedy, note, patching, setting, warning
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.patterns import Slots
from mjrig.core.scene.actor_description import ActorDescription
from mjrig.core.scene.scene_sections import Units

#: A joint may be this far outside its range: keyframes are written with a few digits.
TOLERANCE = 1e-3
TURN = 2.0 * math.pi
#: A gravity sag below this is not reported [rad or m].
DROOP = {"hinge": 0.05, "slide": 0.005}
#: Joints outside their range: position and range.
Outside = dict[str, tuple[float, list[float]]]
UNIT = {"hinge": "rad", "slide": "m"}


def about_start(
    robot: Articulation, model: Any, loads: FloatArray, actor: ActorDescription
) -> Iterator[Finding]:
    """Poses and setpoints out of range, and loads the motors cannot carry.

    Args:
        robot: the actor.
        model: the world's MjModel.
        loads: the result of `holding_efforts`.
        actor: its description.
    """
    yield from _about_poses(robot, model, actor)
    yield from _about_setpoints(robot, _outside(robot, model, robot.model_map.initial.qpos))
    yield from _about_loads(robot, model, loads)


# Ranges -----------------------------------------------------------------------------------------


def _about_poses(robot: Articulation, model: Any, actor: ActorDescription) -> Iterator[Finding]:
    where = robot.model_map
    outside = _outside(robot, model, where.initial.qpos)
    beyond = {name: _outside(robot, model, key.qpos) for name, key in where.keyframes.items()}
    better = [name for name, joints in beyond.items() if not joints]
    of_scene = _differing(robot, where.initial.qpos, [model.qpos0[where.qpos], *_keys(robot)])
    degrees = _in_degrees(robot, model, where.initial.qpos)
    if degrees:
        yield _about_degrees(robot, degrees, outside, actor)
    nearest = _nearest(robot, model, where.initial.qpos)
    for joint, (value, limits) in outside.items():
        if joint in degrees:
            continue
        form = "start-out-of-range keyframe" if better else ""
        remedies = [_moved(robot, actor, {joint: nearest[joint]})]
        if joint in of_scene:  # a keyframe would not change it
            form = "start-out-of-range joints"
        elif better and joint not in _given(robot, actor):  # else the keyframe is overridden
            path = f"{robot.name}.keyframe"
            remedies.insert(0, setting(f"keyframe: {better[0]}", path, better[0]))
        yield warning(
            "start-out-of-range",
            robot.name,
            (joint,),
            form=form,
            here=value,
            expected=limits,
            keyframe=better[0] if better else "",
            remedies=tuple(remedies),
        )
    for name, joints in beyond.items():
        for joint, (value, limits) in joints.items():
            if (value, limits) != outside.get(joint):
                values = {"here": value, "expected": limits, "keyframe": name}
                yield note("keyframe-out-of-range", robot.name, (joint,), **values)


def _keys(robot: Articulation) -> list[FloatArray]:
    return [key.qpos for key in robot.model_map.keyframes.values()]


def _differing(robot: Articulation, qpos: FloatArray, known: list[FloatArray]) -> set[str]:
    """The hinges and slides whose positions are none of the known ones."""
    where, model = robot.model_map, robot.model
    own = {int(a): i for i, a in enumerate(where.qpos)}
    found = set()
    for joint, name in zip(where.joint_ids, robot.joint_names, strict=True):
        i = own[int(model.jnt_qposadr[joint])]
        if all(abs(qpos[i] - other[i]) > TOLERANCE for other in known):
            found.add(name)
    return found


def _about_degrees(
    robot: Articulation,
    degrees: dict[str, float],
    outside: Outside,
    actor: ActorDescription,
) -> Finding:
    right = ", ".join(f"{joint}: {math.radians(v):.4g}" for joint, v in degrees.items())
    return warning(
        "degrees",
        robot.name,
        degrees,
        here=degrees,
        expected={joint: math.radians(v) for joint, v in degrees.items()},
        unit="rad",
        range={joint: outside[joint][1] for joint in degrees if joint in outside},
        radians=right,
        spelled=True,
        remedies=(_moved(robot, actor, {j: math.radians(v) for j, v in degrees.items()}),),
    )


def _moved(robot: Articulation, actor: ActorDescription, positions: dict[str, float]) -> Remedy:
    """Other initial positions of joints, given in radians or metres."""
    turns = {b.joint for b in robot.bindings if b.transmission == "hinge"}
    in_degrees = actor.units is Units.DEGREES
    written = {
        joint: float(f"{math.degrees(v) if in_degrees and joint in turns else v:.6g}")
        for joint, v in positions.items()
    }
    said = ", ".join(f"{joint}: {v:.4g}" for joint, v in written.items())
    among = [[name] for name in robot.joint_names]
    return patching(f"joints: {{{said}}}", f"{robot.name}.joints", written, among)


def _given(robot: Articulation, actor: ActorDescription) -> set[str]:
    """The joints that `joints:` gives a position."""
    slots = Slots([[name] for name in robot.joint_names], robot.name)
    return {slots.names[i] for i in slots.spread(actor.joints)}


def _nearest(robot: Articulation, model: Any, qpos: FloatArray) -> dict[str, float]:
    """The position inside the range that is nearest to where a joint is."""
    where = robot.model_map
    values = dict(zip(where.qpos.tolist(), qpos.tolist(), strict=True))
    found = {}
    for joint, name in zip(where.joint_ids, robot.joint_names, strict=True):
        low, high = model.jnt_range[joint]
        found[name] = float(np.clip(values[int(model.jnt_qposadr[joint])], low, high))
    return found


def _in_degrees(robot: Articulation, model: Any, qpos: FloatArray) -> dict[str, float]:
    """Hinges over a turn away and out of range, whose position would fit in degrees."""
    where = robot.model_map
    values = dict(zip(where.qpos.tolist(), qpos.tolist(), strict=True))
    found = {}
    for joint, name in zip(where.joint_ids, robot.joint_names, strict=True):
        value = values[int(model.jnt_qposadr[joint])]
        if int(model.jnt_type[joint]) != int(mujoco.mjtJoint.mjJNT_HINGE):
            continue
        low, high = model.jnt_range[joint] if model.jnt_limited[joint] else (-TURN, TURN)
        fits = low - TOLERANCE <= math.radians(value) <= high + TOLERANCE
        if fits and abs(value) > TURN and not low <= value <= high:
            found[name] = value
    return found


def _outside(robot: Articulation, model: Any, qpos: FloatArray) -> Outside:
    """Joint → its position and range, for joints outside their range."""
    where = robot.model_map
    values = dict(zip(where.qpos.tolist(), qpos.tolist(), strict=True))
    found = {}
    for joint, name in zip(where.joint_ids, robot.joint_names, strict=True):
        scalar = int(model.jnt_type[joint]) >= int(mujoco.mjtJoint.mjJNT_SLIDE)
        if not (scalar and model.jnt_limited[joint]):
            continue
        low, high = model.jnt_range[joint]
        value = values[int(model.jnt_qposadr[joint])]
        if not low - TOLERANCE <= value <= high + TOLERANCE:
            found[name] = value, [float(low), float(high)]
    return found


def _about_setpoints(robot: Articulation, outside: Container[str]) -> Iterator[Finding]:
    """Initial setpoints outside ctrlrange, unless their joint is reported already."""
    owned = {b.actuator_id for c in robot.controllers if c.enabled for b in c.bindings}
    column = {name: i for i, name in enumerate(robot.actuator_names)}
    for binding in robot.actuators:
        said = binding.actuator_id in owned or binding.joint in outside
        if said or binding.ctrl_range is None or binding.actuator not in column:
            continue
        low, high = binding.ctrl_range
        value = float(robot.setpoints.position[column[binding.actuator]])
        if not low - TOLERANCE <= value <= high + TOLERANCE:
            yield warning(
                "setpoint-out-of-range",
                robot.name,
                (binding.actuator,),
                here=value,
                expected=[float(low), float(high)],
            )


# Loads ------------------------------------------------------------------------------------------


def _about_loads(robot: Articulation, model: Any, loads: FloatArray) -> Iterator[Finding]:
    """Gravity at the start pose against limits and stiffness, where nothing else holds it."""
    heavy: dict[str, tuple[Any, ...]] = {}
    droops: dict[str, tuple[Any, ...]] = {}
    for binding, controller, index in _holders(robot):
        load = float(loads[binding.dof_address])
        if math.isnan(load):
            continue
        unit = binding.effort_unit
        limit = effort_limit(binding, controller, index)
        name = binding.actuator
        if abs(load) > limit:
            heavy[name] = abs(load), limit, unit
            continue
        kp = _stiffness(binding, controller, index, model)
        droop = abs(load) / kp if kp else 0.0
        if droop > DROOP[binding.transmission]:
            droops[name] = droop, UNIT[binding.transmission], abs(load), unit
    if heavy:
        yield warning(
            "overloaded",
            robot.name,
            heavy,
            spelled=True,
            **_columns(heavy, "here", "expected", "units"),
        )
    if droops:
        worst = dict(sorted(droops.items(), key=lambda item: item[1][0], reverse=True))
        yield note(
            "droops",
            robot.name,
            droops,
            spelled=True,
            **_columns(worst, "here", "units", "load", "effort_units"),
        )


def _columns(rows: dict[str, tuple[Any, ...]], *columns: str) -> dict[str, dict[str, Any]]:
    """Rows of values by name as one mapping for each column."""
    return {c: {name: row[i] for name, row in rows.items()} for i, c in enumerate(columns)}


def _holders(
    robot: Articulation,
) -> Iterator[tuple[ActuatorBinding, ArticulationController | None, int]]:
    """Position-holding drives of a joint: laws with kp, and position actuators driven directly."""
    owned: set[int] = set()
    for controller in robot.controllers:
        if controller.enabled:
            kp = controller.gains().get("kp")
            for index, binding in enumerate(controller.bindings):
                owned.add(binding.actuator_id)
                if binding.on_joint and kp is not None and kp[index] > 0.0:
                    yield binding, controller, index
    for binding in robot.actuators:
        if binding.actuator_id not in owned and binding.on_joint and binding.kind == "position":
            yield binding, None, -1


def _stiffness(
    binding: ActuatorBinding, controller: ArticulationController | None, index: int, model: Any
) -> float:
    """kp at the joint; 0 where an integral term removes the sag."""
    if controller is None:
        return -float(model.actuator_biasprm[binding.actuator_id][1]) * binding.gear**2
    gains = controller.gains()
    return 0.0 if "ki" in gains and gains["ki"][index] > 0.0 else float(gains["kp"][index])


def holding_efforts(model: Any, data: Any) -> FloatArray:
    """Effort per dof that holds the current pose against gravity and springs.

    NaN where one motor alone does not determine it: on a tree with a free or ball joint, and
    where a contact, an equality or a joint limit holds too.
    """
    still = mujoco.MjData(model)
    still.qpos[:], still.mocap_pos[:], still.mocap_quat[:] = (
        data.qpos,
        data.mocap_pos,
        data.mocap_quat,
    )
    mujoco.mj_forward(model, still)
    loads: FloatArray = still.qfrc_bias - still.qfrc_passive
    loose = model.jnt_type < int(mujoco.mjtJoint.mjJNT_SLIDE)
    afloat = model.body_treeid[model.jnt_bodyid[loose]]
    held = _constrained(model, still) | _at_stops(model, still)
    loads[np.isin(model.dof_treeid, afloat) | held] = math.nan
    return loads


def _at_stops(model: Any, data: Any) -> npt.NDArray[np.bool_]:
    """Dofs at or beyond a limit of their range."""
    scalar = model.jnt_type >= int(mujoco.mjtJoint.mjJNT_SLIDE)
    joints = np.flatnonzero(scalar & model.jnt_limited.astype(bool))
    value = data.qpos[model.jnt_qposadr[joints]]
    low, high = model.jnt_range[joints].T
    found = np.zeros(model.nv, bool)
    found[model.jnt_dofadr[joints]] = (value < low + TOLERANCE) | (value > high - TOLERANCE)
    return found


def _constrained(model: Any, data: Any) -> npt.NDArray[np.bool_]:
    """Dofs that a contact, an equality or a limit acts on."""
    if not data.nefc:
        return np.zeros(model.nv, bool)
    dense = np.zeros((data.nefc, model.nv))
    if mujoco.mj_isSparse(model):
        mujoco.mju_sparse2dense(
            dense, data.efc_J, data.efc_J_rownnz, data.efc_J_rowadr, data.efc_J_colind
        )
    else:
        dense[:] = data.efc_J.reshape(dense.shape)
    friction = (
        int(mujoco.mjtConstraint.mjCNSTR_FRICTION_DOF),
        int(mujoco.mjtConstraint.mjCNSTR_FRICTION_TENDON),
    )
    holding = ~np.isin(data.efc_type, friction)
    return np.asarray(dense[holding].any(axis=0), dtype=bool)
