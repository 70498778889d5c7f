"""Motor index → joint, as vendors' software development kits count them."""

from collections.abc import Collection

_LEGS = ("hip", "thigh", "calf")
_QUADRUPED = tuple(f"{leg}_{part}_joint" for leg in ("FR", "FL", "RR", "RL") for part in _LEGS)
_WHEELED = (*_QUADRUPED, *(f"{leg}_foot_joint" for leg in ("FR", "FL", "RR", "RL")))


def _sides(parts: Collection[str]) -> list[str]:
    return [f"{side}_{part}_joint" for side in ("left", "right") for part in parts]


_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
        "wrist_yaw")  # fmt: skip
_WAIST = ("waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint")
_H1_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_H1_2_LEG = ("hip_yaw", "hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll")

#: Robot → joint of each motor index, empty for an unused one.
ORDERS: dict[str, tuple[str, ...]] = {
    "go2": _QUADRUPED,
    "go2w": _WHEELED,
    "h1": (
        "right_hip_roll_joint", "right_hip_pitch_joint", "right_knee_joint",
        "left_hip_roll_joint", "left_hip_pitch_joint", "left_knee_joint",
        "torso_joint", "left_hip_yaw_joint", "right_hip_yaw_joint", "",
        "left_ankle_joint", "right_ankle_joint",
        *(f"right_{part}_joint" for part in _H1_ARM), *(f"left_{part}_joint" for part in _H1_ARM),
    ),
    "g1": (*_sides(_LEG), *_WAIST, *_sides(_ARM)),
    "h1_2": (*_sides(_H1_2_LEG), "torso_joint", *_sides(_ARM)),
}  # fmt: skip
#: Motors that the 23-joint G1 lacks.
_G1_23 = {13, 14, 20, 21, 27, 28}


def robot_by_motors(family: str, used: Collection[int]) -> tuple[str, tuple[str, ...], str]:
    """Robot, joint of each motor, and the reason; an empty robot: no known one fits."""
    motors = set(used)
    count = len(motors)
    go = {12: "go2", 16: "go2w"}
    name = ""
    if family == "unitree_go":
        name = go.get(count, "")
        if count >= 19 and 9 not in motors:
            name = "h1"
    elif motors == set(range(27)):
        name = "h1_2"
    elif motors in (set(range(29)), set(range(29)) - _G1_23):
        name = "g1"
    if not name or not motors <= set(range(len(ORDERS[name]))):
        return "", (), f"{count} motors are used, as in no robot that is known"
    same = " or B2" if name == "go2" else " or B2W" if name == "go2w" else ""
    return name, ORDERS[name], f"{count} motors are used: {name}{same}, in the order of its SDK"


def sdk_name(label: str) -> str:
    """`FR_0` → `FR_hip_joint`; other labels stay."""
    leg, _, number = label.partition("_")
    if leg in ("FR", "FL", "RR", "RL") and number in ("0", "1", "2"):
        return f"{leg}_{_LEGS[int(number)]}_joint"
    return label
