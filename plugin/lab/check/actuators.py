"""Pre-flight: which controllers drive which actuators and joints, and the limits of both."""

import math
from collections.abc import Iterator
from typing import Any

import mujoco

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import model_ranges, our_limit, owned, symmetric
from mjrig.core.findings import Finding, Remedy, adding, note, patching, setting, warning
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.names import literal
from mjrig.lab.check.feedback_loops import SERVOS

# Drives -------------------------------------------------------------------------------------------
# Pre-flight: which controllers drive which actuators and joints.


def about_drives(robot: Articulation, model: Any) -> Iterator[Finding]:
    """Controllers that own nothing or are off, joints driven twice, robots without a drive."""
    yield from _about_controllers(robot)
    yield from _about_joints(robot)
    yield from _about_the_undriven(robot, model)


def _about_controllers(robot: Articulation) -> Iterator[Finding]:
    for controller in robot.controllers:
        who = (controller._role,)
        if not controller.is_bound:
            yield warning("owns-nothing", robot.name, who, **_way_out(robot, controller))
        elif not controller.enabled and controller.follows_pose:
            motors = [b.actuator for b in controller.bindings if b.kind == "motor"]
            if motors:
                yield warning(
                    "disabled",
                    robot.name,
                    who,
                    here=False,
                    expected=True,
                    motors=motors,
                    remedies=(
                        setting("enabled: true", f"{robot.name}.{controller._role}.enabled", True),
                    ),
                )


def _way_out(robot: Articulation, controller: ArticulationController) -> dict[str, Any]:
    """What makes actuators ownable: the form of the finding, its values and remedies."""
    skipped, actor = controller.bindings.skipped, robot.name
    if not skipped:
        added = {"type": "MotorActuator", "joint": ".*"}
        return {"remedies": (adding("add motors", f"{actor}.actuators", added),)}
    names = {name for name, _ in skipped}
    reason = f"{skipped[0][0]} {skipped[0][1]}"
    kinds = {b.kind for b in robot.actuators if b.actuator in names and b.on_joint}
    if "position" in kinds:
        servo = next(b.actuator for b in robot.actuators if b.kind == "position" and b.on_joint)
        remedy = setting("use_motors: true", f"{actor}.use_motors", True)
        values = {"reason": reason, "servo": literal(servo)}
        return {"form": "owns-nothing servos", "remedies": (remedy,), **values}
    if kinds & set(SERVOS):
        added = {"type": "MotorActuator", "replaces": ".*"}
        remedy = adding("put motors in their place", f"{actor}.actuators", added)
        return {"form": "owns-nothing others", "remedies": (remedy,), "reason": reason}
    return {"form": "owns-nothing unknown", "reason": reason}


def _about_joints(robot: Articulation) -> Iterator[Finding]:
    owned = {b.actuator_id for c in robot.controllers for b in c.bindings}
    by_joint: dict[int, list[ActuatorBinding]] = {}
    for binding in robot.actuators:
        if binding.on_joint:
            by_joint.setdefault(binding.joint_id, []).append(binding)
    for bindings in by_joint.values():
        ours = [b for b in bindings if b.actuator_id in owned]
        servos = [b for b in bindings if b.actuator_id not in owned and b.kind in SERVOS]
        where = (bindings[0].joint,)
        if len(ours) > 1:
            yield warning("two-actuators", robot.name, where, here=[b.actuator for b in ours])
        elif (ours and servos) or len(servos) > 1:
            both = [*ours, *servos]
            yield warning(
                "two-actuators",
                robot.name,
                where,
                form="two-actuators stiff",
                here=[f"{b.actuator} ({b.kind})" for b in both],
                last=both[-1].actuator,
                remedies=(
                    adding(
                        f"remove {both[-1].actuator}",
                        f"{robot.name}.removed",
                        literal(both[-1].actuator),
                    ),
                ),
            )


def _about_the_undriven(robot: Articulation, model: Any) -> Iterator[Finding]:
    kinds = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    joints = [j for j in robot.model_map.joint_ids if int(model.jnt_type[j]) in kinds]
    if not robot.actuators:
        if len(joints) > 1:
            yield note(
                "no-actuators",
                robot.name,
                here=len(joints),
                remedies=(
                    adding(
                        "add motors",
                        f"{robot.name}.actuators",
                        {"type": "MotorActuator", "joint": ".*"},
                    ),
                ),
            )
        return
    motors = [b.actuator for b in robot.actuators if b.is_bindable]
    if motors and not robot.controllers:
        yield note(
            "no-controller",
            robot.name,
            here=motors,
            remedies=(
                adding("add a PDController", f"{robot.name}.components", {"type": "PDController"}),
            ),
        )


# Limits -------------------------------------------------------------------------------------------
# Pre-flight: the limits of actuators and joints.


#: How far past its range a target may lead a joint, as a part of that range: a gripper squeezes.
FAR = 0.25


def about_limits(robot: Articulation, model: Any) -> Iterator[Finding]:
    """Limits that are missing, ineffective, zero or inverted."""
    for controller in robot.controllers:
        for index, binding, gains in owned(controller):
            if "torque_limit" in gains:
                yield from _about_limit(robot, controller, binding, gains, index)
    yield from _about_direct(robot)
    yield from _about_targets(robot, model)
    yield from _about_ranges(robot, model)
    yield from _about_endless_joints(robot)


def _about_limit(
    robot: Articulation,
    controller: ArticulationController,
    binding: ActuatorBinding,
    gains: dict[str, float],
    index: int,
) -> Iterator[Finding]:
    limit, unit, who = gains["torque_limit"], binding.effort_unit, (binding.actuator,)
    known = model_ranges(binding)
    if not known and math.isinf(our_limit(controller, index)):
        yield warning("no-limit", robot.name, who)
    if limit == 0.0:
        yield warning("zero-limit", robot.name, who, here=0.0, unit=unit)
    if not known or math.isinf(limit):
        return
    name, bound = min(((n, symmetric(r)) for n, r in known.items()), key=lambda item: item[1])
    if limit > bound and _is_said(controller):
        yield warning(
            "limit-above-model",
            robot.name,
            who,
            here=limit,
            expected=bound,
            unit=unit,
            attribute=name,
            remedies=_lowered(robot, controller, binding, bound) if bound else (),
        )
    elif limit > bound:
        yield note(
            "limit-above-model",
            robot.name,
            who,
            form="limit-above-model default",
            here=limit,
            expected=bound,
            unit=unit,
        )


def _lowered(
    robot: Articulation, controller: ArticulationController, binding: ActuatorBinding, bound: float
) -> tuple[Remedy, ...]:
    """The limit of one actuator set to that of the model."""
    path = f"{robot.name}.{controller._role}.torque_limit"
    among = [b.names for b in controller.bindings]
    value = float(f"{bound:g}")
    return (patching(f"torque_limit: {bound:g}", path, {binding.actuator: value}, among),)


def _is_said(controller: ArticulationController) -> bool:
    """Whether the scene sets a torque limit; otherwise it is the default."""
    return any(
        controller.is_authored(n)
        for n in ("torque_limit", "default_torque_limit")
        if n in controller._properties
    )


def _about_direct(robot: Articulation) -> Iterator[Finding]:
    """Actuators without a control law whose effort may be unbounded."""
    for binding in _direct(robot):
        if binding.kind not in ("motor", *SERVOS) or model_ranges(binding) or not binding.gear:
            continue  # without gear there is no effort to limit
        is_servo = binding.kind in SERVOS and binding.ctrl_range is not None
        if not is_servo and binding.ctrl_range is not None:
            continue
        unbounded = "no-limit servo unbounded" if binding.kind in SERVOS else "no-limit motor"
        form, name = "no-limit servo" if is_servo else unbounded, binding.actuator
        yield note("no-limit", robot.name, (name,), form=form, literal=literal(name))


def _direct(robot: Articulation) -> Iterator[ActuatorBinding]:
    """The actuators with one output that no controller owns."""
    taken = {b.actuator_id for c in robot.controllers for b in c.bindings}
    yield from (b for b in robot.actuators if b.actuator_id not in taken and b.output_count == 1)


def _about_targets(robot: Articulation, model: Any) -> Iterator[Finding]:
    """Position servos whose ctrlrange leads far past the stops of their joint."""
    for binding in _direct(robot):
        joint, given = binding.joint_range, binding.ctrl_range
        servo = _position_servo(binding, model)
        if joint is None or given is None or servo is None or not joint[1] > joint[0]:
            continue
        factor, offset = servo
        low, high = sorted(factor * u + offset for u in given)
        past = max(joint[0] - low, high - joint[1])
        if past <= FAR * (joint[1] - joint[0]):
            continue
        ends = sorted((q - offset) / factor for q in joint)
        value = [float(f"{end:.6g}") for end in ends]
        turns = binding.effort_unit == "N·m"
        as_degrees = turns and math.isclose(high, math.degrees(joint[1]), rel_tol=0.05)
        yield warning(
            "ctrlrange-past-joint",
            robot.name,
            (binding.actuator,),
            here=list(given),
            expected=value,
            unit="rad" if turns else "m",
            reach=[low, high],
            range=list(joint),
            in_degrees=as_degrees,
            remedies=_within_joint(robot, binding, value),
        )


def _position_servo(binding: ActuatorBinding, model: Any) -> tuple[float, float] | None:
    """(factor, offset) from control to the position of the joint it asks for."""
    if not binding.on_joint or not binding.gear:
        return None
    if binding.kind == "pid" and binding.inputs[:1] == ("pos",):
        return 1.0 / binding.gear, 0.0
    i = binding.actuator_id
    gain, bias = float(model.actuator_gainprm[i, 0]), model.actuator_biasprm[i]
    slope = -float(bias[1]) * binding.gear
    if binding.kind != "position" or not slope or not gain:
        return None
    return gain / slope, float(bias[0]) / slope


def _within_joint(
    robot: Articulation, binding: ActuatorBinding, value: list[float]
) -> tuple[Remedy, ...]:
    among = [b.names for b in robot.actuators]
    path, text = f"{robot.name}.native_gains.ctrlrange", f"ctrlrange {value[0]:g} {value[1]:g}"
    return (patching(text, path, {binding.actuator: value}, among),)


def _about_ranges(robot: Articulation, model: Any) -> Iterator[Finding]:
    """NOTE: with autolimits MuJoCo compiles an inverted range as no range at all.

    The ranges of a native controller's actuators are those of the controller: what the model says
    is known from its spec.
    """
    specs = robot.model_map.natives.now
    for binding in robot.actuators:
        i, ctrl = binding.actuator_id, binding.ctrl_address
        spec = specs.get(binding.actuator)
        ranges = {"forcerange": model.actuator_forcerange[i] if spec is None else spec.forcerange}
        if binding.ctrl_count:
            ranges["ctrlrange"] = model.actuator_ctrlrange[ctrl] if spec is None else spec.ctrlrange
        yield from _upside_down(robot, binding.actuator, ranges)
    for joint in robot.model_map.joint_ids:
        name = mujoco.mj_id2name(model, mujoco.mjtObj.mjOBJ_JOINT, int(joint)) or ""
        ranges = {"range": model.jnt_range[joint], "actuatorfrcrange": model.jnt_actfrcrange[joint]}
        yield from _upside_down(robot, str(name).removeprefix(robot.model_map.prefix), ranges)


def _upside_down(robot: Articulation, name: str, ranges: dict[str, Any]) -> Iterator[Finding]:
    for attribute, (low, high) in ranges.items():
        if low > high:
            yield warning(
                "inverted-range",
                robot.name,
                (name,),
                here=[float(low), float(high)],
                expected=[float(high), float(low)],
                attribute=attribute,
            )


def _about_endless_joints(robot: Articulation) -> Iterator[Finding]:
    for controller in robot.controllers:
        for _, binding, gains in owned(controller):
            turns = binding.transmission == "hinge" and binding.joint_range is None
            if turns and gains.get("kp") and getattr(controller, "clamp_targets", False):
                yield note("no-range", robot.name, (binding.actuator,))
