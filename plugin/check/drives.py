"""Pre-flight: which controllers drive which actuators and joints."""

from collections.abc import Iterator
from typing import Any

import mujoco

from mjrig.check.feedback_loops import SERVOS
from mjrig.check.finding import Finding, note, warning
from mjrig.check.remedy import adding, setting
from mjrig.control.articulation import Articulation
from mjrig.control.controller import ArticulationController
from mjrig.model.binding import ActuatorBinding
from mjrig.names import listed, literal


def about_drives(robot: Articulation, model: Any) -> Iterator[Finding]:
    """Controllers that own nothing or are off, joints driven twice, robots without a drive."""
    yield from _about_controllers(robot)
    yield from _about_joints(robot)
    yield from _about_the_undriven(robot, model)


def _about_controllers(robot: Articulation) -> Iterator[Finding]:
    for controller in robot.controllers:
        who = (controller._role,)
        if not controller.is_bound:
            text = "owns no actuator: nothing its patterns match can be bound"
            fix, more = _way_out(robot, controller)
            yield warning("owns-nothing", robot.name, who, text, fix, **more)
        elif not controller.enabled and controller.follows_pose:
            motors = [b.actuator for b in controller.bindings if b.kind == "motor"]
            if motors:
                yield warning(
                    "disabled",
                    robot.name,
                    who,
                    f"is disabled: position setpoints in rad go as torque to {listed(motors)}",
                    "enabled: true, or leave the controller out",
                    remedies=(
                        setting("enabled: true", f"{robot.name}.{controller._role}.enabled", True),
                    ),
                )


def _way_out(robot: Articulation, controller: ArticulationController) -> tuple[str, dict[str, Any]]:
    """What makes actuators ownable, in the words of a scene, and as edits of it."""
    skipped, actor = controller.bindings.skipped, robot.name
    if not skipped:
        added = {"type": "MotorActuator", "joint": ".*"}
        remedy = adding("add motors", f"{actor}.actuators", added)
        fix = 'add actuators: to the actor, as in actuators: [{type: MotorActuator, joint: ".*"}]'
        return fix, {"remedies": (remedy,)}
    names = {name for name, _ in skipped}
    reason = f"{skipped[0][0]} {skipped[0][1]}"
    kinds = {b.kind for b in robot.actuators if b.actuator in names and b.on_joint}
    if "position" in kinds:
        servo = next(b.actuator for b in robot.actuators if b.kind == "position" and b.on_joint)
        fix = (
            f"{reason}: use_motors: true on the actor makes motors of its position actuators; or "
            "leave this controller out and give them other gains, as in "
            f'native_gains: {{kp: {{"{literal(servo)}": 40}}}}'
        )
        return fix, {"remedies": (setting("use_motors: true", f"{actor}.use_motors", True),)}
    if kinds & set(SERVOS):
        motors = 'actuators: [{type: MotorActuator, replaces: ".*"}]'
        added = {"type": "MotorActuator", "replaces": ".*"}
        remedy = adding("put motors in their place", f"{actor}.actuators", added)
        return f"{reason}: {motors} on the actor puts motors in their place", {
            "remedies": (remedy,)
        }
    return reason, {"by_hand": "which actuators it is to own is for you to say"}


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
            yield warning(
                "two-actuators",
                robot.name,
                where,
                "two or more owned actuators act on this joint: "
                f"{listed(b.actuator for b in ours)}; each applies its full effort",
                "leave one out of the controller's actuators: patterns",
                by_hand="which of them is to drive the joint is for you to say",
            )
        elif (ours and servos) or len(servos) > 1:
            both = [*ours, *servos]
            yield warning(
                "two-actuators",
                robot.name,
                where,
                "two or more actuators hold this joint: "
                + ", ".join(f"{b.actuator} ({b.kind})" for b in both)
                + "; their stiffnesses add up",
                f"remove one, as in removed: [{both[-1].actuator}]",
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
                (),
                f"has {len(joints)} hinge and slide joints and no actuator: nothing can move it",
                'add them, as in actuators: [{type: MotorActuator, joint: ".*"}]',
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
            (),
            f"has no controller: setpoints go as torque to its motors {listed(motors)}",
            "components: [{type: PDController}]",
            remedies=(
                adding("add a PDController", f"{robot.name}.components", {"type": "PDController"}),
            ),
        )
