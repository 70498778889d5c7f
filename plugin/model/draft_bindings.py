"""The actuators of a spec that is not compiled yet, as far as a law can own them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import mujoco

from mjrig.actuators.native_actuator import NativeActuator
from mjrig.model.binding import ActuatorBinding, has_effect

_JOINTS = (int(mujoco.mjtTrn.mjTRN_JOINT), int(mujoco.mjtTrn.mjTRN_JOINTINPARENT))
_TRANSMISSION = {
    int(mujoco.mjtJoint.mjJNT_HINGE): "hinge",
    int(mujoco.mjtJoint.mjJNT_SLIDE): "slide",
}
_FIXED, _NO_BIAS, _NO_DYNAMICS = (
    int(mujoco.mjtGain.mjGAIN_FIXED),
    int(mujoco.mjtBias.mjBIAS_NONE),
    int(mujoco.mjtDyn.mjDYN_NONE),
)
_TRUE, _AUTO = int(mujoco.mjtLimited.mjLIMITED_TRUE), int(mujoco.mjtLimited.mjLIMITED_AUTO)
_FIRST_ONE = [1.0] + [0.0] * (mujoco.mjNGAIN - 1)
_NOT_DRAFTED = "is not known before the model is compiled"


class Drafted(NamedTuple):
    """The actuators of an actor by local name."""

    #: As the actor's spec has them.
    natives: Mapping[str, NativeActuator]
    #: What people called them.
    aliases: Mapping[str, str]


def draft_actuators(spec: Any, actors: Mapping[str, Drafted]) -> dict[str, list[ActuatorBinding]]:
    """The actuators of some actors, in id order; addresses are those of nothing yet.

    A plain motor on a hinge or slide joint has what `describe_actuators` will find. Anything else
    has its names, a reason to be skipped, and no control, so that no law can own it.

    Args:
        spec: the world's MjSpec, complete.
        actors: for each actor by name its actuators.
    """
    joints = {joint.name: joint for joint in spec.joints}
    found: dict[str, list[ActuatorBinding]] = {name: [] for name in actors}
    flags, groups = int(spec.option.disableflags), int(spec.option.disableactuator)
    # A motor that is switched off, or its ctrlrange, is left to `describe_actuators`.
    is_plain = not groups and not flags & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    for i, actuator in enumerate(spec.actuators):
        actor, _, local = actuator.name.partition("/")
        if actor in actors:
            native, alias = actors[actor].natives[local], actors[actor].aliases.get(local, "")
            on_joint = int(native.trntype) in _JOINTS
            joint = joints.get(f"{actor}/{native.target}") if on_joint and is_plain else None
            found[actor].append(_draft(i, actuator, native, joint, alias))
    return found


def _draft(
    i: int, actuator: Any, native: NativeActuator, joint: Any, alias: str
) -> ActuatorBinding:
    transmission = "" if joint is None else _TRANSMISSION.get(int(joint.type), "")
    ctrl = _Limits(int(native.ctrllimited), *native.ctrlrange.tolist())
    force = _Limits(int(native.forcelimited), *native.forcerange.tolist())
    gear = float(native.gear[0])
    is_motor = transmission != "" and has_effect(gear) and _is_plain_motor(actuator, native)
    is_motor = is_motor and ctrl.are_clear(actuator) and force.are_clear(actuator)
    return ActuatorBinding(
        actuator=native.name,
        joint="" if joint is None else native.target,
        actuator_id=i,
        ctrl_address=-1,
        ctrl_count=1 if is_motor else 0,
        output_address=-1,
        output_count=1,
        joint_id=-1,
        qpos_address=0 if is_motor else -1,
        dof_address=0 if is_motor else -1,
        kind="motor" if is_motor else "general",
        transmission=transmission,
        target=native.target,
        gear=gear,
        gain=1.0,
        inputs=("",),
        ctrl_range=ctrl.range,
        force_range=force.range,
        joint_range=None,
        joint_force_range=None,
        skip_reason="" if is_motor else _NOT_DRAFTED,
        alias=alias,
    )


def _is_plain_motor(actuator: Any, native: NativeActuator) -> bool:
    """A motor that MuJoCo takes as it is: turned into something else it hides no error."""
    plain = (
        int(native.gaintype) == _FIXED
        and int(native.biastype) == _NO_BIAS
        and int(native.dyntype) == _NO_DYNAMICS
        and not native.plugin
        and not native.inheritrange
        and native.actdim <= 0
        and native.gainprm.tolist() == _FIRST_ONE
        and native.dynprm.tolist() == _FIRST_ONE
        and not any(native.biasprm.tolist())
        and not actuator.delay
        and not actuator.nsample
        and not actuator.actearly
    )
    no_activation = not any(actuator.actrange.tolist()) and int(actuator.actlimited) != _TRUE
    return plain and no_activation


class _Limits(NamedTuple):
    """What an actuator says about its ctrlrange or forcerange."""

    limited: int
    low: float
    high: float

    def are_clear(self, actuator: Any) -> bool:
        """Whether the range is one, or none is given; and nothing depends on `autolimits`."""
        if self.limited == _AUTO:
            is_range = self.low < self.high
            return not (self.low or self.high) or bool(is_range and actuator.compiler.autolimits)
        return self.limited != _TRUE or self.low < self.high

    @property
    def range(self) -> tuple[float, float] | None:
        """The range, where it limits anything."""
        by_itself = self.limited == _AUTO and self.low < self.high
        return (self.low, self.high) if self.limited == _TRUE or by_itself else None
