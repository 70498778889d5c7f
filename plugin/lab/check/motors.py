"""Pre-flight: what a scene asks of the motors it names, and what it says differently."""

import math
from collections.abc import Iterator
from typing import Any

import mujoco

from mjrig.core.control.articulation import Articulation
from mjrig.core.control.controller import ArticulationController
from mjrig.core.control.effort_limits import model_ranges, owned, symmetric
from mjrig.core.control.plant import at_joint
from mjrig.core.findings import Finding, note, patching, setting, warning
from mjrig.core.model.binding import ActuatorBinding
from mjrig.core.scene.motor_file import Motor, MotorOnJoint, MotorOutput

#: Properties of clamps that are an effort or a speed of the motor.
_EFFORTS, _SPEEDS = ("max_effort", "y1"), ("velocity_limit", "x2")
#: Differences of an armature that are worth a note.
_SAME = 0.01


def about_motors(robot: Articulation, model: Any) -> Iterator[Finding]:
    """Limits that a motor cannot give, and values that differ from its own."""
    for controller in robot.controllers:
        for index, binding, gains in owned(controller):
            if binding.motor is not None:
                yield from _about_limit(robot, controller, binding, binding.motor, gains)
                yield from _about_clamps(robot, controller, binding, binding.motor, index)
    taken = {b.actuator_id for c in robot.controllers for b in c.bindings}
    for binding in robot.actuators:
        if binding.motor is not None and binding.actuator_id not in taken:
            yield from _about_native(robot, binding, binding.motor)
    for joint, found in robot.model_map.motors.items():
        yield from _about_kind(robot, model, joint, found.motor)
        yield from _about_joint(robot, model, joint, found)
        yield from _about_speed(robot, model, joint, found.motor)


def _slides(robot: Articulation, model: Any, joint: str) -> bool:
    index = robot.model_map.joint_ids[robot.joint_names.index(joint)]
    return int(model.jnt_type[index]) == int(mujoco.mjtJoint.mjJNT_SLIDE)


def _about_kind(robot: Articulation, model: Any, joint: str, motor: Motor) -> Iterator[Finding]:
    """A rotary motor on a slide: its numbers are the joint's, whatever the actuator's gear is."""
    is_slide = _slides(robot, model, joint)
    is_linear = motor.file.output is MotorOutput.LINEAR
    if is_slide == is_linear:
        return
    mine, others = ("linear", "hinge") if is_linear else ("rotary", "slide")
    units = ("N", "m/s", "kg"), ("N·m", "rad/s", "kg·m²")
    own, taken = units if is_linear else units[::-1]
    parts = ("effort", "speed", "armature")
    read_as = [f"{p} [{a}] as {b}" for p, a, b in zip(parts, own, taken, strict=True)]
    part = "lever of length r" if is_linear else "pinion of radius r"
    conversion = "effort / r, speed · r, armature / r², output: linear"
    if is_linear:
        conversion = "effort · r, speed / r, armature · r², output: rotary"
    yield warning(
        "motor-kind",
        robot.name,
        (joint,),
        here=mine,
        expected="rotary" if is_linear else "linear",
        output=mine,
        transmission=others,
        motor=str(motor),
        read_as=read_as,
        part=part,
        conversion=conversion,
    )


def _most(value: float) -> float:
    """A limit with room for the digits that a fix leaves out."""
    return value * (1 + 1e-5)


def _about_limit(
    robot: Articulation,
    controller: ArticulationController,
    binding: ActuatorBinding,
    motor: Motor,
    gains: dict[str, float],
) -> Iterator[Finding]:
    limit, peak = gains.get("torque_limit", 0.0), motor.peak
    if math.isinf(limit) or limit <= _most(peak) or not controller.is_authored("torque_limit"):
        return
    if any(symmetric(r) <= _most(peak) for r in model_ranges(binding).values()):
        return  # the model's own limit is the tighter one, which `limit-above-model` is about
    path = f"{robot.name}.{controller._role}.torque_limit"
    among = [b.names for b in controller.bindings]
    value = {binding.actuator: float(f"{peak:g}")}
    yield warning(
        "motor-limit",
        robot.name,
        (binding.actuator,),
        here=limit,
        expected=peak,
        unit="N·m",
        motor=str(motor),
        remedies=(patching(f"torque_limit: {peak:g}", path, value, among),),
    )


def _about_clamps(
    robot: Articulation,
    controller: ArticulationController,
    binding: ActuatorBinding,
    motor: Motor,
    index: int,
) -> Iterator[Finding]:
    """Clamps of the scene that stand in place of the motor's, or allow more than it gives."""
    who = (binding.actuator,)
    for clamp in getattr(controller, "clamps", ()):
        limits = {p.name: getattr(clamp, p.name) for p in clamp.properties()}
        in_place = [n for n in _SPEEDS if n in limits]
        for name in in_place:
            clamp_name = type(clamp).__name__
            yield note("motor-overridden", robot.name, who, clamp=clamp_name, motor=str(motor))
            speed = float(limits[name][index])
            if math.isfinite(speed) and speed > _most(motor.top_speed):
                top = motor.top_speed
                yield _too_much(robot, who, motor, name, here=speed, expected=top, unit="rad/s")
        for name in (n for n in _EFFORTS if n in limits and in_place):
            effort = float(limits[name][index])
            if math.isfinite(effort) and effort > _most(motor.peak):
                peak = motor.peak
                yield _too_much(robot, who, motor, name, here=effort, expected=peak, unit="N·m")


def _too_much(
    robot: Articulation, who: tuple[str, ...], motor: Motor, attribute: str, **values: Any
) -> Finding:
    values |= {"attribute": attribute, "motor": str(motor)}
    return warning("motor-limit", robot.name, who, form="motor-limit clamp", **values)


def _about_native(robot: Articulation, binding: ActuatorBinding, motor: Motor) -> Iterator[Finding]:
    who, peak = (binding.actuator,), motor.peak
    ranges = model_ranges(binding)
    if "forcerange" in ranges and symmetric(ranges["forcerange"]) > _most(peak):
        bound = symmetric(ranges["forcerange"])
        yield warning(
            "motor-limit",
            robot.name,
            who,
            form="motor-limit native",
            here=bound,
            expected=peak,
            unit="N·m",
            motor=str(motor),
            actuator=binding.actuator,
        )
    on_joint = robot.model_map.motors.get(binding.joint)
    if binding.kind == "position" and on_joint is not None and not on_joint.is_servo:
        if motor.curve is not None or motor.line is not None:
            fix = "use_motors: true"
            yield note(
                "motor-curve",
                robot.name,
                who,
                motor=str(motor),
                remedies=(setting(fix, f"{robot.name}.use_motors", True),),
            )


def _about_joint(
    robot: Articulation, model: Any, joint: str, found: MotorOnJoint
) -> Iterator[Finding]:
    motor, now = found.motor, robot.model_map.joints.now[joint]
    own = motor.fit.armature
    if own is None:
        return
    unit = at_joint("kg·m²", slides=_slides(robot, model, joint))
    if "armature" in found.overridden:
        if not math.isclose(now.armature, own, rel_tol=_SAME):
            yield warning(
                "motor-armature",
                robot.name,
                (joint,),
                here=now.armature,
                expected=own,
                unit=unit,
                motor=str(motor),
            )
    elif found.before.armature and not math.isclose(found.before.armature, own, rel_tol=_SAME):
        yield note(
            "motor-armature",
            robot.name,
            (joint,),
            form="motor-armature replaced",
            here=found.before.armature,
            expected=own,
            unit=unit,
            motor=str(motor),
        )
    others = sorted(found.overridden - {"armature"})
    if others:
        yield note(
            "motor-overridden",
            robot.name,
            (joint,),
            form="motor-overridden joint",
            attributes=[f"dynamics.{name}" for name in others],
            motor=str(motor),
        )


def _about_speed(robot: Articulation, model: Any, joint: str, motor: Motor) -> Iterator[Finding]:
    where, state = robot.model_map, robot.model_map.initial
    index = robot.joint_names.index(joint)
    dof = int(model.jnt_dofadr[where.joint_ids[index]])
    speed = abs(float(state.qvel[where.dof.tolist().index(dof)]))
    if speed > motor.top_speed:
        yield warning(
            "motor-speed",
            robot.name,
            (joint,),
            here=speed,
            expected=motor.top_speed,
            unit="rad/s",
            motor=str(motor),
        )
