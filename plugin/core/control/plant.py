"""Plant: the parameters that determine how a robot moves, as far as they are known.

One form for recordings, policy files and running worlds, so that they can be compared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

#: Parameters per joint, by local joint name, with units.
PER_JOINT = {
    "kp": "N·m/rad",
    "kv": "N·m·s/rad",
    "torque_limit": "N·m",
    "armature": "kg·m²",
    "damping": "N·m·s/rad",
    "frictionloss": "N·m",
    "stiffness": "N·m/rad",
    "delay": "s",
    "default_pose": "rad",
    "action_scale": "rad",
}
#: The units of a joint that slides, by those of one that turns.
SLIDING = {
    "N·m/rad": "N/m",
    "N·m·s/rad": "N·s/m",
    "N·m": "N",
    "kg·m²": "kg",
    "rad": "m",
    "rad/s": "m/s",
}
#: Parameters of the whole robot, with units.
OVERALL = {
    "timestep": "s",
    "decimation": "steps",
    "integrator": "",
    "solver": "",
    "iterations": "",
    "ls_iterations": "",
    "disable_flags": "",
    "gravity": "m/s²",
    "phase": "",
    "joint_order": "",
    "model_hash": "",
    "mujoco": "",
}


def at_joint(unit: str, *, slides: bool) -> str:
    """The unit of a number of a joint, given that of a joint that turns."""
    return SLIDING.get(unit, unit) if slides else unit


@dataclass(frozen=True)
class Plant:
    """What is known; what is not known is absent, and never compared.

    Attributes:
        overall: keys of `OVERALL`.
        joints: keys of `PER_JOINT` → local joint name → value.
        recovered: keys of `joints` that were deduced, not read.
        enforced: joint name → where its limit is enforced: `controller`, `ctrlrange`,
            `forcerange` or `actuatorfrcrange`.
    """

    overall: Mapping[str, object] = field(default_factory=dict)
    joints: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    recovered: tuple[str, ...] = ()
    enforced: Mapping[str, str] = field(default_factory=dict)
