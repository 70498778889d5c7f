"""unitree_rl_gym: one YAML beside a TorchScript or ONNX network; joints by index, no names.

The file for the real robot (`control_dt`, `leg_joint2motor_idx`) names their motors.
"""

import re
from typing import Any

from mjrig.components.importers.sources import terms
from mjrig.components.importers.sources.found import Begin, FoundPolicy, Held, Term, ValueOrder
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry

#: Period of the gait in the code of the stack [s].
GAIT = 0.8
_HOME = re.compile(r"(?:robots|pre_train)/([^/]+)")


def recognises(source: PolicySource) -> bool:
    """By the keys every file of the stack has."""
    return source.one("kps", "kds", "default_angles", "num_actions") is not None


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by the YAML.

    Raises:
        SceneError: a key is missing or has a wrong value.
    """
    config = source.one("kps", "kds", "default_angles", "num_actions")
    assert config is not None
    root = config.root
    count = root.whole("num_actions")
    real = "control_dt" in root
    timestep = None if real else root.number("simulation_dt", above=0.0)
    tick = root.number("control_dt", above=0.0) if real else _tick(root)
    order = ValueOrder.INDEX
    motors: tuple[int, ...] = ()
    if "leg_joint2motor_idx" in root and len(source.robot.motors) > count:
        order = ValueOrder.MOTORS
        motors = tuple(root.indices("leg_joint2motor_idx", count, len(source.robot.motors)))
    scale = root.number("action_scale")
    return FoundPolicy(
        stack="unitree_rl_gym",
        robot=_robot(root),
        count=count,
        order=order,
        motors=motors,
        timestep=timestep,
        tick=tick,
        phase="after",
        kp=root.numbers("kps", count),
        kv=root.numbers("kds", count),
        default=root.numbers("default_angles", count),
        terms=gait_terms(root, count),
        action={"scale": scale, "dtype": "float32"},
        command=_command(root),
        begin=Begin.RESET,
        size=root.whole("num_obs") if "num_obs" in root else None,
        held=_held(root),
        notes=("the target is the default pose until the first tick, after one tick's time",),
        assumed=(
            "the file has no joint names: its order is taken to be the model's",
            f"the gait's period is {GAIT:g} s, as in the code of the stack",
        ),
    )


def gait_terms(scales: VendorEntry, count: int) -> list[Term]:
    """ω, gravity, command, joints, last action and the gait's phase, with the file's scales."""
    size = len(scales.numbers("cmd_scale"))
    return [
        terms.angular_velocity(scales.number("ang_vel_scale")),
        terms.gravity(),
        terms.command(scales.numbers("cmd_scale"), size),
        terms.positions(count, scales.number("dof_pos_scale", 1.0)),
        terms.velocities(count, scales.number("dof_vel_scale")),
        terms.last_action(count),
        terms.term("GaitPhase", 2, period=GAIT, form="sin_cos"),
    ]


def _tick(root: VendorEntry) -> float:
    return root.number("simulation_dt", above=0.0) * root.whole("control_decimation")


def _command(root: VendorEntry) -> dict[str, Any]:
    command: dict[str, Any] = {"names": ["vx", "vy", "wz"]}
    if "cmd_init" in root:
        command["default"] = root.numbers("cmd_init", 3, "command")
    if "max_cmd" in root:
        command["ranges"] = [[-v, v] for v in root.numbers("max_cmd", 3, "command")]
    return command


def _held(root: VendorEntry) -> list[Held]:
    """The motors of arms and waist in the file for the real robot."""
    if "arm_waist_joint2motor_idx" not in root:
        return []
    motors = root.numbers("arm_waist_joint2motor_idx")
    size = len(motors)
    gains = (root.numbers(f"arm_waist_{what}", size) for what in ("kps", "kds", "target"))
    return [Held(int(m), *values) for m, *values in zip(motors, *gains, strict=True)]


def _robot(root: VendorEntry) -> str:
    """`…/robots/g1_description/scene.xml` → g1."""
    for key in ("xml_path", "policy_path"):
        found = _HOME.search(root.text(key))
        if found:
            return found.group(1).lower().removesuffix("_description")
    return ""
