"""Action terms: what the output of the network commands, joint by joint."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mjrig.components.importers.isaac.patterns import (
    Values,
    bounds,
    chosen,
    entries_by_name,
    flat_numbers,
    per_name,
    python_name,
)
from mjrig.components.importers.sources.vendor_file import VendorEntry
from mjrig.core.errors import SceneError
from mjrig.core.names import listed

_KINDS = {
    "JointPositionAction": "position",
    "JointVelocityAction": "velocity",
    "JointEffortAction": "effort",
    "JointPositionToLimitsAction": "position",
    "RelativeJointPositionAction": "position",
}
_WHY = {
    "EMAJointPositionToLimitsAction": "a moving average of targets, which policy.yaml has not",
    "BinaryJointPositionAction": "it opens and closes",
    "BinaryJointVelocityAction": "it opens and closes",
    "NonHolonomicAction": "it moves a base without joints",
}


@dataclass(frozen=True)
class ActionTerm:
    """One term: target = scale · action + offset, inside `low` and `high`.

    Attributes:
        joints: in the order of the network's output.
        kind: position, velocity or effort.
        measured: the action is added to the position of the joint.
    """

    name: str
    kind: str
    joints: tuple[str, ...]
    scale: tuple[float, ...]
    offset: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    measured: bool = False

    @property
    def clipped(self) -> bool:
        """Whether targets are limited."""
        return any(math.isfinite(v) for v in (*self.low, *self.high))


@dataclass(frozen=True)
class ActionContext:
    """What action terms refer to.

    Attributes:
        joints: of the training, in its order.
        robot: its name in the file.
        default: default positions.
        soft_range: the limits of a joint, as the training narrows them; None: it has none.
        every_step: whether the policy acts before every physics step.
        unmatched: gets patterns that match no joint.
    """

    joints: Sequence[str]
    robot: str
    default: dict[str, float]
    soft_range: Callable[[str], tuple[float, float] | None]
    every_step: bool
    unmatched: list[str]


def read_actions(
    terms: Sequence[tuple[str, VendorEntry]], context: ActionContext
) -> list[ActionTerm]:
    """The action terms of a file, in order.

    Raises:
        SceneError: a class cannot be expressed (all are named), or a value is wrong.
    """
    given = [(name, entry) for name, entry in terms if entry.data is not None]
    refused = [text for name, entry in given if (text := _refused(name, entry, context))]
    if refused:
        raise given[0][1].error(f"actions that cannot be taken over: {'; '.join(refused)}")
    if not given:
        raise SceneError("the files have no action terms: nothing says what the network commands")
    found = [_term(name, entry, context) for name, entry in given]
    seen: list[str] = []
    for term in found:
        both = [joint for joint in term.joints if joint in seen]
        if both:
            raise given[0][1].error(f"two action terms move {listed(both)}")
        seen += term.joints
    return found


def class_of(entry: VendorEntry) -> str:
    """The class of a term; a position where the dump lost it (mjlab)."""
    if "class_type" not in entry:
        return "JointPositionAction" if "use_default_offset" in entry else "an unnamed class"
    return python_name(entry.text("class_type"))[1].removesuffix("Cfg")


def _refused(name: str, entry: VendorEntry, context: ActionContext) -> str:
    kind = class_of(entry)
    asset = entry.text("asset_name") or entry.text("entity_name") or context.robot
    if kind == "RelativeJointPositionAction" and not context.every_step:
        why = "it adds to the joints' positions at every physics step, a policy here at every tick"
        return f"{name!r} ({kind}: {why})"
    if kind not in _KINDS:
        why = _WHY.get(kind, "")
        return f"{name!r} ({kind}{': ' + why if why else ''})"
    if asset != context.robot:
        return f"{name!r} moves {asset!r}, not {context.robot!r}"
    return ""


def _term(name: str, entry: VendorEntry, context: ActionContext) -> ActionTerm:
    key = "joint_names" if "joint_names" in entry else "actuator_names"
    keep = entry.flag("preserve_order") is True
    joints = chosen(entry.at(key), context.joints, keep_order=keep)
    kind = class_of(entry)
    scale = _numbers(entry, "scale", joints, 1.0, context.unmatched)
    offset = _numbers(entry, "offset", joints, 0.0, context.unmatched)
    target = _KINDS[kind]
    if entry.flag("use_default_offset"):
        offset = [context.default[j] if target == "position" else 0.0 for j in joints]
    if kind == "RelativeJointPositionAction" and entry.flag("use_zero_offset"):
        offset = [0.0] * len(joints)
    low, high = _clip(entry, joints, context.unmatched)
    if kind == "JointPositionToLimitsAction":
        scale, offset, low, high = _to_limits(entry, joints, scale, context)
    return ActionTerm(
        name,
        target,
        tuple(joints),
        tuple(scale),
        tuple(offset),
        tuple(low),
        tuple(high),
        measured=kind == "RelativeJointPositionAction",
    )


def _numbers(
    entry: VendorEntry, key: str, joints: Sequence[str], otherwise: float, unmatched: list[str]
) -> list[float]:
    if key not in entry:
        return [otherwise] * len(joints)
    values: Values = per_name(entry.at(key), joints, unmatched)
    return [otherwise if v is None else v for v in values]


def _clip(
    entry: VendorEntry, joints: Sequence[str], unmatched: list[str]
) -> tuple[list[float], list[float]]:
    """Limits of the targets: by pattern, or one pair per joint."""
    low, high = [-math.inf] * len(joints), [math.inf] * len(joints)
    clip = entry.get("clip")
    if clip is None:
        return low, high
    if isinstance(clip.data, dict):
        for joint, item in entries_by_name(clip, joints, unmatched).items():
            low[joints.index(joint)], high[joints.index(joint)] = bounds(item)
        return low, high
    pairs = [bounds(item) for item in clip.items()]
    if len(pairs) not in (1, len(joints)):
        raise clip.error(f"must have {len(joints)} pairs, one per joint, got {len(pairs)}")
    pairs = pairs * len(joints) if len(pairs) == 1 else pairs
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


def _to_limits(
    entry: VendorEntry, joints: Sequence[str], scale: Sequence[float], context: ActionContext
) -> tuple[list[float], list[float], list[float], list[float]]:
    """[-1, 1] over the soft limits of each joint: an affine map, clipped at its ends."""
    if "clip" in entry or entry.flag("rescale_to_limits") is False:
        raise entry.error("clip and rescale_to_limits: false are not taken over for this class")
    ranges = [context.soft_range(joint) for joint in joints]
    without = [joint for joint, span in zip(joints, ranges, strict=True) if span is None]
    if without:
        raise entry.error(f"the model has no limits for {listed(without)}, over which it scales")
    low, high = zip(*(span for span in ranges if span is not None), strict=True)
    half = [(b - a) / 2.0 for a, b in zip(low, high, strict=True)]
    middle = [(a + b) / 2.0 for a, b in zip(low, high, strict=True)]
    return [s * h for s, h in zip(scale, half, strict=True)], middle, [*low], [*high]


def described_action(name: str, entry: VendorEntry, joints: Sequence[str]) -> ActionTerm:
    """An action term of IO descriptors: everything is resolved already.

    Raises:
        SceneError: its class cannot be expressed, or a value is wrong.
    """
    kind = python_name(entry.text("full_path"))[1]
    if kind not in ("JointPositionAction", "JointVelocityAction", "JointEffortAction"):
        raise entry.error(f"{name!r} is {kind}, which cannot be taken over from descriptors alone")
    own = entry.texts("joint_names", distinct=True)
    unknown = [joint for joint in own if joint not in joints]
    if unknown:
        raise entry.at("joint_names").error(f"{listed(unknown)} are not among the articulation's")
    size = len(own)
    low, high = _clip(entry, own, [])
    scale = flat_numbers(entry.at("scale"), size) if "scale" in entry else [1.0] * size
    offset = flat_numbers(entry.at("offset"), size) if "offset" in entry else [0.0] * size
    return ActionTerm(
        name, _KINDS[kind], tuple(own), tuple(scale), tuple(offset), tuple(low), tuple(high)
    )


def action_recipe(
    actions: Sequence[ActionTerm], default: Mapping[str, float], clip: float | None
) -> dict[str, Any]:
    """`action` of policy.yaml."""
    scale = [s for term in actions for s in term.scale]
    offset = [o for term in actions for o in term.offset]
    moved = [j for term in actions for j in term.joints]
    kinds = [term.kind for term in actions for _ in term.joints]
    data: dict[str, Any] = {"scale": scale, "dtype": "float32"}
    usual = [default[j] if k == "position" else 0.0 for j, k in zip(moved, kinds, strict=True)]
    if actions[0].measured:
        data["mode"] = "measured"
    elif offset != usual:
        data["offset"] = offset
    if any(term.clipped for term in actions):
        low, high = ([v for t in actions for v in getattr(t, side)] for side in ("low", "high"))
        data["clip_target"] = [low, high]
    if clip is not None:
        data |= {"clip": [-clip, clip], "last": "clipped"}
    return data
