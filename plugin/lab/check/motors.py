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
from mjrig.core.scene.motor_file import MotorOutput
from mjrig.core.scene.motors import Motor, MotorOnJoint

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
    said = ", ".join(f"{p} [{a}] as {b}" for p, a, b in zip(parts, own, taken, strict=True))
    fix = "for a pinion of radius r: effort / r, speed · r, armature / r², output: linear"
    if is_linear:
        fix = "for a lever of length r: effort · r, speed / r, armature · r², output: rotary"
    yield warning(
        "motor-kind",
        robot.name,
        (joint,),
        f"is a {others}, and its motor {motor} is {mine}: its numbers are taken for the joint's, "
        f"{said}; a gear of the actuator does not change that",
        f"a motor file with the numbers at the {others} ({fix})",
        by_hand="what is between motor and joint is for you to say",
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
    fix = f"torque_limit: {peak:g}"
    value = {binding.actuator: float(f"{peak:g}")}
    yield warning(
        "motor-limit",
        robot.name,
        (binding.actuator,),
        f"torque limit {limit:g} N·m is more than its motor {motor} can drive with ({peak:g} N·m)",
        fix,
        remedies=(patching(fix, path, value, among),),
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
            text = f"{type(clamp).__name__} of the controller comes in place of the torque-speed "
            yield note("motor-overridden", robot.name, who, f"{text}limits of its motor {motor}")
            speed = float(limits[name][index])
            if math.isfinite(speed) and speed > _most(motor.top_speed):
                yield _too_much(robot, who, motor, f"{name} {speed:g} rad/s", motor.top_speed)
        for name in (n for n in _EFFORTS if n in limits and in_place):
            effort = float(limits[name][index])
            if math.isfinite(effort) and effort > _most(motor.peak):
                yield _too_much(robot, who, motor, f"{name} {effort:g} N·m", motor.peak)


def _too_much(
    robot: Articulation, who: tuple[str, ...], motor: Motor, asked: str, given: float
) -> Finding:
    return warning(
        "motor-limit",
        robot.name,
        who,
        f"the clamp's {asked} is more than its motor {motor} has ({given:g})",
        "leave the clamp out: the motor's own limits then hold",
        by_hand="which of the two numbers is right is for you to say",
    )


def _about_native(robot: Articulation, binding: ActuatorBinding, motor: Motor) -> Iterator[Finding]:
    who, peak = (binding.actuator,), motor.peak
    ranges = model_ranges(binding)
    if "forcerange" in ranges and symmetric(ranges["forcerange"]) > _most(peak):
        bound = symmetric(ranges["forcerange"])
        yield warning(
            "motor-limit",
            robot.name,
            who,
            f"forcerange ±{bound:g} N·m is more than its motor {motor} can drive with "
            f"({peak:g} N·m)",
            f"native_gains: {{forcerange: {{{binding.actuator}: [{-peak:g}, {peak:g}]}}}}",
            by_hand="a range is written by hand",
        )
    on_joint = robot.model_map.motors.get(binding.joint)
    if binding.kind == "position" and on_joint is not None and not on_joint.is_servo:
        if motor.curve is not None or motor.line is not None:
            fix = "use_motors: true"
            yield note(
                "motor-curve",
                robot.name,
                who,
                f"MuJoCo's position actuator does not follow the torque-speed limits of {motor}",
                f"{fix} on the actor: a controller does",
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
                f"dynamics.armature {now.armature:g} {unit} differs from that of its motor {motor} "
                f"({own:g} {unit})",
                "leave it out: the motor's own then holds",
                by_hand="which of the two numbers is right is for you to say",
            )
    elif found.before.armature and not math.isclose(found.before.armature, own, rel_tol=_SAME):
        yield note(
            "motor-armature",
            robot.name,
            (joint,),
            f"the model's armature {found.before.armature:g} {unit} was replaced by that of its "
            f"motor {motor} ({own:g} {unit})",
        )
    others = sorted(found.overridden - {"armature"})
    if others:
        names = " and ".join(f"dynamics.{name}" for name in others)
        text = f"{names} of the scene come{'s' * (len(others) == 1)} in place of its motor's"
        yield note("motor-overridden", robot.name, (joint,), f"{text} ({motor})")


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
            f"begins at {speed:g} rad/s, faster than its motor {motor} can drive it "
            f"({motor.top_speed:g} rad/s)",
            by_hand="the initial velocity is for you to say",
        )
