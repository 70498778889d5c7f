"""Motors of an actor in its spec: armature and friction of joints, servos as position actuators.

A motor's numbers come in place of the model's; what the scene says itself (`dynamics`,
`native_gains`, properties of authored actuators) comes in place of the motor's.
"""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

import mujoco

from mjrig.actuators.native_actuator import NativeActuator
from mjrig.actuators.native_joint import NativeJoint
from mjrig.errors import BindingError, LocatedError, MotorError, PropertyError
from mjrig.model.model_edits import Edits, override_dynamics, override_gains
from mjrig.model.write_actuators import Authored
from mjrig.motors.joint_motor import MotorOnJoint
from mjrig.motors.library import find_motor
from mjrig.motors.motor import Motor, ServoForm
from mjrig.names import Slots
from mjrig.pattern_budget import pattern_budget
from mjrig.properties.per_actuator import DEFAULT
from mjrig.scene.actor import ActorDescription

#: What of a joint a motor decides.
OF_MOTORS = ("armature", "frictionloss", "damping")
_ON_JOINT = (mujoco.mjtTrn.mjTRN_JOINT, mujoco.mjtTrn.mjTRN_JOINTINPARENT)
_SINGLE = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


def apply_motors(
    spec: Any, actor: ActorDescription, edits: Edits, authored: Authored
) -> dict[str, MotorOnJoint]:
    """Give the joints and actuators of a spec what the actor's `motors` say, by joint.

    `edits` then has the motors' numbers in place of the model's, so that later changes of
    `dynamics` and `native_gains` override these.

    Raises:
        PropertyError, BindingError: a pattern matches nothing, or there is no such motor.
    """
    if not actor.motors:
        return {}
    joints = {j.name: j for j in spec.joints if j.type in _SINGLE}
    driving = _driving(spec, joints)
    said = _said(actor, list(joints))
    found: dict[str, MotorOnJoint] = {}
    for name, motor in _chosen(actor, joints, driving).items():
        servo = motor.servo
        servos = [] if servo is None else [a for a in driving[name] if _is_servo(a)]
        own = frozenset(key for key, names in said.items() if name in names)
        found[name] = MotorOnJoint(motor, edits.joints[name], bool(servos), own)
        edits.joints[name] = _with_motor(edits.joints[name], motor, servo if servos else None)
        for element in servos:
            assert servo is not None
            _make_servo(element, servo, actor, edits, authored)
    for joint in override_dynamics(list(edits.joints.values()), actor):
        if joint.name in found:
            joint.write_to(joints[joint.name])
    own = {a.name for n in found for a in driving[n]} - {n for ns in authored.names for n in ns}
    _write_gains(spec, actor, edits, own)
    return found


def _driving(spec: Any, joints: Mapping[str, Any]) -> dict[str, list[Any]]:
    """The actuators on each joint."""
    found: dict[str, list[Any]] = {name: [] for name in joints}
    for actuator in spec.actuators:
        if actuator.trntype in _ON_JOINT and actuator.target in found:
            found[actuator.target].append(actuator)
    return found


def _chosen(
    actor: ActorDescription, joints: Mapping[str, Any], driving: Mapping[str, Sequence[Any]]
) -> dict[str, Motor]:
    names = list(joints)
    aliases = [(name, *(a.name for a in driving[name])) for name in names]
    slots = Slots(aliases, actor.label, "joint or actuator")
    patterns = {p: motor for p, motor in actor.motors.items() if p != DEFAULT}
    try:
        chosen = {names[i]: said for i, said in slots.spread(patterns).items()}
    except BindingError as error:
        text = f"{actor.label}.motors: {error}"
        raise BindingError(text, ("motors",), at=error.at, about_key=error.about_key) from None
    if DEFAULT in actor.motors:
        rest = [name for name in names if driving[name] and name not in chosen]
        chosen |= {name: (DEFAULT, actor.motors[DEFAULT]) for name in rest}
    motors = {said: _found(actor, *said) for said in dict.fromkeys(chosen.values())}
    if DEFAULT in actor.motors:  # a wrong name is an error, also where it is for no joint
        _found(actor, DEFAULT, actor.motors[DEFAULT])
    return {name: motors[chosen[name]] for name in names if name in chosen}


def _found(actor: ActorDescription, pattern: str, name: str) -> Motor:
    try:
        return find_motor(name, actor)
    except (LocatedError, MotorError) as error:
        at = (pattern,) if isinstance(actor.authored("motors"), Mapping) else ()
        raise PropertyError(f"{actor.label}.motors: {error}", ("motors",), at=at) from error


def _said(actor: ActorDescription, joints: Sequence[str]) -> dict[str, set[str]]:
    """The joints that the actor's own `dynamics` give each number of a motor for."""
    slots = Slots([(name,) for name in joints], actor.label, "joint")
    return {
        key: {joints[i] for i in slots.spread(_of_these(slots, getattr(actor.dynamics, key)))}
        for key in OF_MOTORS
        if actor.dynamics is not None
    }


@pattern_budget()
def _of_these(slots: Slots, values: Mapping[str, float]) -> dict[str, float]:
    """What is for other kinds of joints is not looked at."""
    found = {}
    for pattern, value in values.items():
        with suppress(BindingError):
            slots.match(pattern)
            found[pattern] = value
    return found


# Joints -----------------------------------------------------------------------------------------


def _with_motor(joint: NativeJoint, motor: Motor, servo: ServoForm | None) -> NativeJoint:
    fit = motor.fit
    damping = fit.viscous
    if servo is not None:
        damping = (damping or 0.0) + servo.damping
    for name, value in (
        ("armature", fit.armature), ("frictionloss", fit.coulomb), ("damping", damping),
    ):  # fmt: skip
        if value is not None:
            joint = joint.with_number(name, value)
    return joint


# Actuators --------------------------------------------------------------------------------------


def _is_servo(element: Any) -> bool:
    return NativeActuator.of(element).kind == "position" and bool(element.gear[0])


def _servo_gains(element: Any, servo: ServoForm) -> dict[str, Any]:
    """Gains in the units of the actuator, whose length is gear times the joint's angle."""
    gear = abs(float(element.gear[0]))
    limit = servo.limit / gear
    return {"kp": servo.stiffness / gear**2, "kv": 0.0, "forcerange": (-limit, limit)}


def _make_servo(
    element: Any, servo: ServoForm, actor: ActorDescription, edits: Edits, authored: Authored
) -> None:
    """Give an actuator of the model, or an authored one where it says nothing, a servo's gains."""
    gains = _servo_gains(element, servo)
    made = {n: actor.actuators[i] for i, names in enumerate(authored.names) for n in names}
    if element.name not in made:
        edits.actuators[element.name].override(gains)
        return
    said = made[element.name]
    if said.is_authored("dampratio"):
        del gains["kv"]
    new = NativeActuator.of(element)
    new.override({n: v for n, v in gains.items() if not said.is_authored(n)})
    new.write_to(element)


def _write_gains(spec: Any, actor: ActorDescription, edits: Edits, names: Collection[str]) -> None:
    """Write the model's own actuators, with what `native_gains` say on top."""
    changed = [a.copy() for a in edits.actuators.values()]
    if actor.native_gains is not None:
        override_gains(changed, actor)
    elements = {a.name: a for a in spec.actuators}
    for actuator in changed:
        if actuator.name in names and actuator.kind == "position":
            actuator.write_to(elements[actuator.name])
