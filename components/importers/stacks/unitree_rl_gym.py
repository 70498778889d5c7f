"""unitree_rl_gym and its forks: one YAML beside a TorchScript or ONNX network; joints by index.

The file for the real robot (`control_dt`, `leg_joint2motor_idx`) names their motors. Forks name
joints (`model_joint_names`), leave the gait's phase out and stack frames: the sizes tell.
"""

import re
from dataclasses import dataclass, replace
from typing import Any

from mjrig.components.importers.sources.policy_description import (
    Begin,
    FoundPolicy,
    Held,
    Term,
    TermMaker,
    velocity_command,
)
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry, unread

KEYS = (("kps", "kds", "default_angles", "num_actions"),)
#: Period of the gait in the code of the stack [s].
GAIT = 0.8
#: The joints in the order of the network, in forks of the stack.
NAMES = "model_joint_names"
#: The same as the model has them.
MODEL_NAMES = "mujoco_joint_names"
#: What the file has besides: where files are, how the real robot is reached, and scales of what is
#: not observed.
_ASIDE = ("policy_path", "xml_path", "simulation_duration", "lin_vel_scale", "msg_type",
          "imu_type", "lowcmd_topic", "lowstate_topic", "weak_motor")  # fmt: skip
_READ = (*KEYS[0], "control_dt", "simulation_dt", "control_decimation", "leg_joint2motor_idx",
         NAMES, MODEL_NAMES, "action_scale", "num_obs", "cmd_scale", "ang_vel_scale",
         "dof_pos_scale", "dof_vel_scale", "cmd_init", "max_cmd", "arm_waist_joint2motor_idx",
         "arm_waist_kps", "arm_waist_kds", "arm_waist_target")  # fmt: skip
_HOME = re.compile(r"(?:robots|pre_train)/([^/]+)")


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by the YAML.

    Raises:
        SceneError: a key is missing or has a wrong value.
    """
    root = source.root(*KEYS[0])
    count = root.whole("num_actions")
    real = "control_dt" in root
    timestep = None if real else root.number("simulation_dt", above=0.0)
    tick = root.number("control_dt", above=0.0) if real else _tick(root)
    motors: tuple[int, ...] = ()
    if "leg_joint2motor_idx" in root and len(source.robot.motors) > count:
        motors = tuple(root.indices("leg_joint2motor_idx", count, len(source.robot.motors)))
    names = tuple(root.texts(NAMES, distinct=True)) if NAMES in root else ()
    if names and len(names) != count:
        raise root.at(NAMES).error(f"has {len(names)} joints, num_actions is {count}")
    scale = root.number("action_scale")
    layout = _layout(root, source, gait_terms(root, count))
    return FoundPolicy(
        stack="unitree_rl_gym",
        robot=_robot(root),
        names=names,
        motors=motors,
        timestep=timestep,
        tick=tick,
        phase="after",
        kp=root.numbers("kps", count),
        kv=root.numbers("kds", count),
        default=root.numbers("default_angles", count),
        terms=layout.terms,
        history=layout.history,
        action={"scale": scale, "dtype": "float32"},
        command=_command(root),
        begin=Begin.RESET,
        size=layout.declared,
        held=_held(root),
        doubts=unread([(root, (*_READ, *_ASIDE))]),
        notes=("the target is the default pose until the first tick, after one tick's time",),
        assumed=(*(() if names else (_BY_PLACE,)), *_two_orders(root), *layout.assumed),
    )


def _two_orders(root: VendorEntry) -> tuple[str, ...]:
    """Forks list the joints twice: as the network and as the model has them."""
    if NAMES not in root or MODEL_NAMES not in root:
        return ()
    if root.texts(NAMES) == root.texts(MODEL_NAMES):
        return ()
    return (f"kps, kds and default_angles are in the order of {NAMES}, not of {MODEL_NAMES}",)


_BY_PLACE = "the file has no joint names: its order is taken to be the model's"


@dataclass(frozen=True)
class _Layout:
    """The terms of the observation, and how frames of it are stacked."""

    terms: list[Term]
    declared: int | None
    history: dict[str, Any]
    assumed: tuple[str, ...]


def _layout(root: VendorEntry, source: PolicySource, whole: list[Term]) -> _Layout:
    """What fits the declared size and the network: with or without a phase, one frame or more."""
    declared = root.whole("num_obs") if "num_obs" in root else None
    network = source.network
    takes = network.width(network.observation) if network is not None else None
    for found in (whole, whole[:-1]):
        size = sum(t.size for t in found)
        frames = 1 if takes is None else takes // size
        if (takes is None or takes == frames * size) and declared in (None, size, frames * size):
            break
    else:  # neither fits: the pre-flight says so
        found, size, frames = whole, 0, 1
    assumed = (f"the gait's period is {GAIT:g} s, as in the code of the stack",)
    if found is not whole:
        assumed = (f"the observation has no gait phase: {size} values are those of the others",)
    if frames < 2:
        return _Layout(found, declared, {}, assumed)
    text = (
        f"the network takes {frames} frames of {size} values: frame by frame, the oldest first, "
        "zeros before the first tick (observation.history in policy.yaml)"
    )
    stacked = [replace(t, history=frames) for t in found]
    history = {"order": "oldest_first", "fill": "zeros", "by": "frame"}
    return _Layout(stacked, None, history, (*assumed, text))


def gait_terms(scales: VendorEntry, count: int) -> list[Term]:
    """ω, gravity, command, joints, last action and the gait's phase, with the file's scales."""
    make = TermMaker(count, len(scales.numbers("cmd_scale")))
    return [
        make("BaseAngularVelocity", scales.number("ang_vel_scale")),
        make("ProjectedGravity"),
        make("CommandTerm", scales.numbers("cmd_scale")),
        make("JointPositions", scales.number("dof_pos_scale", 1.0)),
        make("JointVelocities", scales.number("dof_vel_scale")),
        make("LastAction"),
        make("GaitPhase", period=GAIT, form="sin_cos"),
    ]


def _tick(root: VendorEntry) -> float:
    return root.number("simulation_dt", above=0.0) * root.whole("control_decimation")


def _command(root: VendorEntry) -> dict[str, Any]:
    default = root.numbers("cmd_init", 3, "command") if "cmd_init" in root else None
    return velocity_command(default=default, ranges=command_ranges(root))


def command_ranges(entry: VendorEntry) -> list[list[float]] | None:
    """± `max_cmd` of every value of the command; None: the file has none."""
    if "max_cmd" not in entry:
        return None
    return [[-v, v] for v in entry.numbers("max_cmd", 3, "command")]


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
