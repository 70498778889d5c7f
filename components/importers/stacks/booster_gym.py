"""booster_gym: the training YAML (`envs/T1.yaml`) and a network; gains by part of the name.

All values are float32. The YAML of the real robot (`deploy/configs/T1.yaml`) has other joints,
gains and limits, and is refused.
"""

from collections.abc import Sequence

from mjrig.components.importers.sources.policy_description import (
    Begin,
    FoundPolicy,
    Term,
    TermMaker,
    velocity_command,
)
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.core.names import listed

_TRAINING = ("init_state", "control", "normalization")
_REAL = ("common", "policy", "mech")
KEYS = (_TRAINING, _REAL)
#: Sensors the stack reads; without them the state of the base is taken.
ORIENTATION, ANGULAR_VELOCITY = "orientation", "angular-velocity"


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by the training YAML.

    Raises:
        SceneError: a key is missing or has a wrong value, a joint gets no gain, or it is the
            file of the real robot.
    """
    if source.one(*_TRAINING) is None:
        raise source.root(*_REAL).error(
            "is the configuration of the real robot, with other joints, gains and limits; "
            "give the training configuration, envs/T1.yaml"
        )
    root = source.root(*_TRAINING)
    joints = source.robot.motors
    control, scales = root.at("control"), root.at("normalization")
    matches: list[str] = []
    kp = _by_part(control.at("stiffness"), joints, matches)
    kv = _by_part(control.at("damping"), joints, matches)
    default = _by_part(root.at("init_state").at("default_joint_angles"), joints, matches)
    timestep = root.at("sim").number("dt", above=0.0)
    clip = scales.number("clip_actions")
    env = root.at("env")
    return FoundPolicy(
        stack="booster_gym",
        robot=root.at("asset").text("name").lower() if "asset" in root else "",
        motors=tuple(range(env.whole("num_actions"))),
        timestep=timestep,
        tick=timestep * control.whole("decimation"),
        state="float32",
        single=True,
        kp=kp,
        kv=kv,
        default=default,
        terms=_terms(root, len(joints), source.robot.sensors),
        action={
            "scale": control.number("action_scale"),
            "clip": [-clip, clip],
            "last": "clipped",
            "dtype": "float32",
        },
        command=velocity_command(ranges=_ranges(root.at("commands"))),
        begin=Begin.DEFAULT,
        base=_base(root.at("init_state")),
        size=env.whole("num_observations"),
        trained=_trained(root, len(joints)),
        notes=tuple(matches),
        assumed=("the file has no joint names: its order is taken to be the model's actuators'",),
    )


def _by_part(entry: VendorEntry, joints: Sequence[str], matches: list[str]) -> list[float]:
    """Values by part of a joint's name; the last part that matches wins; all are reported."""
    what = str(entry.path[-1])
    parts = {key: value.as_number() for key, value in entry.entries()}
    values, without = [], []
    for joint in joints:
        fitting = [part for part in parts if part != "default" and part in joint]
        if not fitting and "default" not in parts:
            without.append(joint)
            continue
        part = fitting[-1] if fitting else "default"
        values.append(parts[part])
        also = f" (over {listed(fitting[:-1])})" if len(fitting) > 1 else ""
        matches.append(f"{what} of {joint}: {parts[part]:g} by {part!r}{also}")
    if without:
        raise entry.error(
            f"has no entry for {listed(without)}; its keys are parts of names: {listed(parts)}. "
            "A configuration for another robot?"
        )
    return values


def _terms(root: VendorEntry, count: int, sensors: Sequence[str]) -> list[Term]:
    scales = root.at("normalization")
    lowest, highest = root.at("commands").numbers("gait_frequency", 2, "bound")
    seen = {"sensor": ORIENTATION} if ORIENTATION in sensors else {}
    turning = {"sensor": ANGULAR_VELOCITY} if ANGULAR_VELOCITY in sensors else {}
    speed, turn = scales.number("lin_vel"), scales.number("ang_vel")
    gait = {"frequency": (lowest + highest) / 2.0, "form": "cos_sin", "standing": "stop"}
    make = TermMaker(count)
    return [
        make("ProjectedGravity", scales.number("gravity"), **seen),
        make("BaseAngularVelocity", turn, **turning),
        make("CommandTerm", [speed, speed, turn]),
        make("GaitPhase", **gait),
        make("JointPositions", scales.number("dof_pos")),
        make("JointVelocities", scales.number("dof_vel")),
        make("LastAction"),
    ]


def _ranges(commands: VendorEntry) -> list[list[float]]:
    keys = ("lin_vel_x", "lin_vel_y", "ang_vel_yaw")
    return [commands.numbers(key, 2, "bound") for key in keys]


def _base(state: VendorEntry) -> tuple[list[float], list[float]]:
    """Position and quaternion; the file has xyzw."""
    x, y, z, w = state.numbers("rot", 4, "component")
    return state.numbers("pos", 3, "component"), [w, x, y, z]


def _trained(root: VendorEntry, count: int) -> dict[str, list[float]]:
    if "asset" not in root or "armature" not in root.at("asset"):
        return {}
    return {"armature": [root.at("asset").number("armature")] * count}
