"""MotorOnJoint: the motor that a scene puts on one joint of a model."""

from dataclasses import dataclass

from mjrig.actuators.native_joint import NativeJoint
from mjrig.motors.motor import Motor


@dataclass(frozen=True)
class MotorOnJoint:
    """The motor of one joint, and what the model had there."""

    motor: Motor
    #: The joint as the model's file has it.
    before: NativeJoint
    #: Whether a position actuator on it has the servo's native form.
    is_servo: bool
    #: Which of armature, frictionloss and damping the scene's `dynamics` give themselves.
    overridden: frozenset[str]
