"""The actuators of a spec that is not compiled yet, as far as a law can own them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import mujoco

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


def draft_actuators(
    spec: Any, actors: Mapping[str, Mapping[str, str]]
) -> dict[str, list[ActuatorBinding]]:
    """The actuators of some actors, in id order; addresses are those of nothing yet.

    A plain motor on a hinge or slide joint has what `describe_actuators` will find. Anything else
    has its names, a reason to be skipped, and no control, so that no law can own it.

    Args:
        spec: the world's MjSpec, complete.
        actors: for each actor by name what people called its actuators of these local names.
    """
    joints = {joint.name: joint for joint in spec.joints}
    found: dict[str, list[ActuatorBinding]] = {name: [] for name in actors}
    flags, groups = int(spec.option.disableflags), int(spec.option.disableactuator)
    # A motor that is switched off, or its ctrlrange, is left to `describe_actuators`.
    is_plain = not groups and not flags & int(mujoco.mjtDisableBit.mjDSBL_CLAMPCTRL)
    for i, actuator in enumerate(spec.actuators):
        actor, _, local = actuator.name.partition("/")
        if actor in actors:
            on_joint = int(actuator.trntype) in _JOINTS
            joint = joints.get(actuator.target) if on_joint and is_plain else None
            alias = actors[actor].get(local, "")
            found[actor].append(_draft(i, actuator, joint, f"{actor}/", alias))
    return found


def _draft(i: int, actuator: Any, joint: Any, prefix: str, alias: str) -> ActuatorBinding:
    transmission = "" if joint is None else _TRANSMISSION.get(int(joint.type), "")
    ctrl = _Limits(int(actuator.ctrllimited), *actuator.ctrlrange.tolist())
    force = _Limits(int(actuator.forcelimited), *actuator.forcerange.tolist())
    is_motor = transmission != "" and _is_plain_motor(actuator)
    is_motor = is_motor and ctrl.are_clear(actuator) and force.are_clear(actuator)
    return ActuatorBinding(
        actuator=actuator.name.removeprefix(prefix),
        joint="" if joint is None else joint.name.removeprefix(prefix),
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
        target=actuator.target.removeprefix(prefix),
        gear=float(actuator.gear[0]),
        gain=1.0,
        inputs=("",),
        ctrl_range=ctrl.range,
        force_range=force.range,
        joint_range=None,
        joint_force_range=None,
        skip_reason="" if is_motor else _NOT_DRAFTED,
        alias=alias,
    )


def _is_plain_motor(actuator: Any) -> bool:
    """A motor that MuJoCo takes as it is: turned into something else it hides no error."""
    plain = (
        int(actuator.gaintype) == _FIXED
        and int(actuator.biastype) == _NO_BIAS
        and int(actuator.dyntype) == _NO_DYNAMICS
        and not actuator.plugin.active
        and not actuator.delay
        and not actuator.nsample
        and not actuator.inheritrange
        and not actuator.actearly
        and actuator.actdim <= 0
        and has_effect(float(actuator.gear[0]))
        and actuator.gainprm.tolist() == _FIRST_ONE
        and actuator.dynprm.tolist() == _FIRST_ONE
        and not any(actuator.biasprm.tolist())
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
