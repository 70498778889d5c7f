"""unitree_rl_lab: `params/deploy.yaml` beside `exported/policy.onnx`; joints by motor index.

Stiffness and damping are in motor order, everything else in policy order.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from mjrig.components.importers.sources.policy_description import (
    FoundPolicy,
    Term,
    TermMaker,
    term_size,
    velocity_command,
)
from mjrig.components.importers.sources.source import PolicySource
from mjrig.components.importers.sources.vendor_file import VendorEntry, unread
from mjrig.core.names import suggestion

KEYS = (("joint_ids_map", "step_dt", "observations"),)
_ROOT = (*KEYS[0], "stiffness", "damping", "default_joint_pos", "actions", "commands")
_ACTION = ("scale", "offset", "clip", "joint_ids", "joint_names")
_TERM = ("params", "scale", "clip", "history_length")
_PARAMS = ("command_name", "period")


def read(source: PolicySource) -> FoundPolicy:
    """The policy described by deploy.yaml.

    Raises:
        SceneError: a key is missing or has a wrong value.
    """
    root = source.root(*KEYS[0])
    count = len(root.numbers("joint_ids_map"))
    motors = root.indices("joint_ids_map", count, len(root.numbers("stiffness")))
    action = _action(root, count)
    found, history = _terms(root.at("observations"), count)
    return FoundPolicy(
        stack="unitree_rl_lab",
        motors=tuple(motors),
        timestep=None,
        tick=root.number("step_dt", above=0.0),
        kp=_of(motors, root.numbers("stiffness")),
        kv=_of(motors, root.numbers("damping", len(root.numbers("stiffness")), "motor")),
        default=root.numbers("default_joint_pos", count),
        terms=found,
        history=history,
        action=action,
        command=_command(root),
        doubts=unread(_known(root)),
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
    _check_all(action, count)
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


def _check_all(action: VendorEntry, count: int) -> None:
    """The stack hands actions on by place: those of some joints only have no meaning."""
    ids: Any = action.mapping().get("joint_ids")
    every = ids is None or ids in ([None, None, None], list(range(count)))
    if not every:
        raise action.at("joint_ids").error("must be all joints of joint_ids_map, in their order")


def _command(root: VendorEntry) -> dict[str, Any]:
    commands = root.get("commands")
    if commands is None or "base_velocity" not in commands:
        return velocity_command()
    ranges = commands.at("base_velocity").at("ranges")
    keys = ("lin_vel_x", "lin_vel_y", "ang_vel_z")
    if not all(key in ranges for key in keys):
        return velocity_command()
    return velocity_command(ranges=[ranges.numbers(key, 2, "bound") for key in keys])


_TERMS = {
    "base_ang_vel": "BaseAngularVelocity",
    "base_lin_vel": "BaseLinearVelocity",
    "projected_gravity": "ProjectedGravity",
    "velocity_commands": "CommandTerm",
    "joint_pos_rel": "JointPositions",
    "joint_pos": "JointPositions",
    "joint_vel_rel": "JointVelocities",
    "joint_vel": "JointVelocities",
    "last_action": "LastAction",
}


#: Switches among the terms: clipping comes after scaling, from there on; and frame by frame.
_SCALE_FIRST, _BY_FRAME = "scale_first", "use_gym_history"


def _terms(group: VendorEntry, count: int) -> tuple[list[Term], dict[str, Any]]:
    """The terms, and how their histories lie."""
    found: list[Term] = []
    switches = {_SCALE_FIRST: False, _BY_FRAME: False}
    for name, entry in group.entries():
        if name not in switches:
            found.append(_term(name, entry, count, clip_first=not switches[_SCALE_FIRST]))
        elif isinstance(entry.data, bool):
            switches[name] = entry.data
        else:
            raise entry.error(f"must be true or false, got {entry.data!r}")
    if switches[_BY_FRAME] and len({term.history for term in found}) > 1:
        raise group.at(_BY_FRAME).error("needs the same history_length in all terms")
    by = "frame" if switches[_BY_FRAME] else "term"
    return found, {"order": "oldest_first", "fill": "first", "by": by}


def _known(root: VendorEntry) -> Iterator[tuple[VendorEntry, Collection[str]]]:
    yield root, _ROOT
    for _, action in root.at("actions").entries():
        yield action, _ACTION
    for name, term in root.at("observations").entries():
        if name not in (_SCALE_FIRST, _BY_FRAME):
            yield term, _TERM
            if "params" in term:
                yield term.at("params"), _PARAMS


def _term(name: str, entry: VendorEntry, count: int, *, clip_first: bool) -> Term:
    """One term."""
    make = TermMaker(count)
    more: dict[str, Any] = {"history": entry.whole("history_length", 1)}
    if "clip" in entry:
        more |= {"clip": entry.numbers("clip", 2, "bound")}
        more |= {"order": "clip_then_scale"} if clip_first else {}
    if name == "gait_phase":
        period = entry.at("params").number("period", above=0.0)
        return make("GaitPhase", period=period, form="sin_cos", **more)
    if name not in _TERMS:
        raise entry.error(f"there is no term for {name!r}; {suggestion(name, _TERMS)}")
    kind = _TERMS[name]
    size = term_size({"type": kind}, count)
    scale = entry.numbers("scale", size, "value") if "scale" in entry else None
    if name == "joint_pos":
        more["relative"] = False
    return make(kind, scale, **more)
