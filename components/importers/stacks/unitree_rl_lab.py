"""unitree_rl_lab: `params/deploy.yaml` beside `exported/policy.onnx`; joints by motor index.

Stiffness and damping are in motor order, everything else in policy order.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mjrig.components.importers.sources import terms
from mjrig.components.importers.sources.found import FoundPolicy, Term, ValueOrder
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.names import suggestion

#: Physics timestep where the model's own does not divide the tick [s].
USUAL_STEP = 0.002


KEYS = (("joint_ids_map", "step_dt", "observations"),)


def recognises(source: PolicySource) -> bool:
    """By the keys every deploy.yaml has."""
    return source.one(*KEYS[0]) is not None


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by deploy.yaml.

    Raises:
        SceneError: a key is missing or has a wrong value.
    """
    config = source.one(*KEYS[0])
    assert config is not None
    root = config.root
    count = len(root.numbers("joint_ids_map"))
    motors = root.indices("joint_ids_map", count, len(root.numbers("stiffness")))
    action = _action(root, count)
    return FoundPolicy(
        stack="unitree_rl_lab",
        count=count,
        order=ValueOrder.MOTORS,
        motors=tuple(motors),
        timestep=None,
        tick=root.number("step_dt", above=0.0),
        kp=_of(motors, root.numbers("stiffness")),
        kv=_of(motors, root.numbers("damping", len(root.numbers("stiffness")), "motor")),
        default=root.numbers("default_joint_pos", count),
        terms=[_term(name, entry, count) for name, entry in root.at("observations").entries()],
        history={"order": "oldest_first", "fill": "first", "by": "term"},
        action=action,
        command=_command(root),
        notes=("stiffness and damping were reordered from motor order to policy order",),
        assumed=(
            "the file has no joint names: motor i is taken to be actuator i of the model",
            "the file gives values rounded to three digits, and no physics timestep",
        ),
    )


def _of(motors: Sequence[int], values: Sequence[float]) -> list[float]:
    return [values[m] for m in motors]


def _action(root: VendorEntry, count: int) -> dict[str, Any]:
    kinds = root.at("actions")
    name, action = next(iter(kinds.entries()), ("", kinds))
    if name != "JointPositionAction" or len(kinds.mapping()) != 1:
        raise kinds.error(f"must be one JointPositionAction, got {', '.join(kinds.mapping())}")
    data: dict[str, Any] = {
        "scale": action.numbers("scale", count),
        "offset": action.numbers("offset", count),
        "dtype": "float32",
    }
    if "clip" in action:
        pairs = [[e.as_number() for e in pair.items()] for pair in action.at("clip").items()]
        if any(len(pair) != 2 for pair in pairs) or len(pairs) not in (1, count):
            raise action.at("clip").error(f"must be {count} pairs [lowest, highest]")
        low, high = zip(*(pairs * count if len(pairs) == 1 else pairs), strict=True)
        data["clip_target"] = [list(low), list(high)]
    return data


def _command(root: VendorEntry) -> dict[str, Any]:
    command: dict[str, Any] = {"names": ["vx", "vy", "wz"]}
    if "commands" not in root or "base_velocity" not in root.at("commands"):
        return command
    ranges = root.at("commands").at("base_velocity").at("ranges")
    keys = ("lin_vel_x", "lin_vel_y", "ang_vel_z")
    if all(key in ranges for key in keys):
        command["ranges"] = [ranges.numbers(key, 2, "bound") for key in keys]
    return command


_TERMS: dict[str, tuple[Callable[..., Term], bool]] = {
    "base_ang_vel": (terms.angular_velocity, False),
    "base_lin_vel": (terms.linear_velocity, False),
    "projected_gravity": (terms.gravity, False),
    "velocity_commands": (terms.command, False),
    "joint_pos_rel": (terms.positions, True),
    "joint_pos": (terms.positions, True),
    "joint_vel_rel": (terms.velocities, True),
    "joint_vel": (terms.velocities, True),
    "last_action": (terms.last_action, True),
}


def _term(name: str, entry: VendorEntry, count: int) -> Term:
    """One term: the stack clips first, then scales."""
    more: dict[str, Any] = {"history": entry.whole("history_length", 1)}
    if "clip" in entry:
        more |= {"clip": entry.numbers("clip", 2, "bound"), "order": "clip_then_scale"}
    if name == "gait_phase":
        period = entry.at("params").number("period", above=0.0)
        return terms.term("GaitPhase", 2, period=period, form="sin_cos", **more)
    if name not in _TERMS:
        raise entry.error(f"there is no term for {name!r}; {suggestion(name, _TERMS)}")
    make, per_joint = _TERMS[name]
    scale = entry.numbers("scale", count if per_joint else 3, "value") if "scale" in entry else None
    if name == "joint_pos":
        more["relative"] = False
    return make(count, scale, **more) if per_joint else make(scale, **more)
