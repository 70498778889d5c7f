"""Unitree's robots: which motor index moves which joint.

An index without a joint is an empty text. Names are matched with or without `_joint` behind them.
"""

from dataclasses import dataclass

from mjrig.components.bridges.dds.unitree_messages import GO_MOTORS, HG_MOTORS


@dataclass(frozen=True)
class UnitreeRobot:
    """One kind of robot: its message package, its motors, and how it names its own variant."""

    package: str
    motors: tuple[str, ...]
    mode_machine: int = 0
    #: Indices of joints that two motors move through a linkage: ankles, and the waist.
    linked: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """Motors in a message."""
        return GO_MOTORS if self.package == "unitree_go" else HG_MOTORS


def _each(prefixes: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}_{name}" for prefix in prefixes for name in names)


_LEGS = _each(("FR", "FL", "RR", "RL"), ("hip", "thigh", "calf"))
_WHEELS = tuple(f"{leg}_wheel" for leg in ("FR", "FL", "RR", "RL"))
_SIDES = ("left", "right")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_LONG_ARM = (*_ARM, "wrist_roll", "wrist_pitch", "wrist_yaw")
_ANKLE = ("knee", "ankle_pitch", "ankle_roll")
_ANKLES = (4, 5, 10, 11)
_G1_LEGS = _each(_SIDES, ("hip_pitch", "hip_roll", "hip_yaw", *_ANKLE))
_G1_WAIST = ("waist_yaw", "waist_roll", "waist_pitch")

ROBOTS = {
    "go2": UnitreeRobot("unitree_go", _LEGS),
    "b2": UnitreeRobot("unitree_go", _LEGS),
    "go2w": UnitreeRobot("unitree_go", (*_LEGS, *_WHEELS)),
    "b2w": UnitreeRobot("unitree_go", (*_LEGS, *_WHEELS)),
    "h1": UnitreeRobot(
        "unitree_go",
        (
            "right_hip_roll", "right_hip_pitch", "right_knee",
            "left_hip_roll", "left_hip_pitch", "left_knee",
            "torso", "left_hip_yaw", "right_hip_yaw", "", "left_ankle", "right_ankle",
            *_each(("right", "left"), _ARM),
        ),
    ),
    "g1": UnitreeRobot("unitree_hg", (*_G1_LEGS, *_G1_WAIST, *_each(_SIDES, _LONG_ARM)), 5,
                       (*_ANKLES, 13, 14)),
    "h1_2": UnitreeRobot(
        "unitree_hg",
        (
            *_each(_SIDES, ("hip_yaw", "hip_pitch", "hip_roll", *_ANKLE)),
            "torso",
            *_each(_SIDES, _LONG_ARM),
        ),
        linked=_ANKLES,
    ),
}  # fmt: skip
