"""Pre-flight of the joint order: symmetry of sides, signs, ranges, short probe runs."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mjrig.check.finding import Finding, error, note, warning
from mjrig.components.importers.sources.found import FoundPolicy, ValueOrder
from mjrig.components.importers.sources.matching import Matched
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.names import listed
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.sim2sim.diagnose.order_probe import (
    TURNS,
    OrderProbe,
    better_order,
    order_probe,
    suspicion,
    telling_command,
    unclear,
)

#: How far outside of its range a default position may be [rad or m].
SLACK = 1e-3
_GUESSES = (
    "compare what was assumed with the training: --scale, --default, --keyframe, --height, --rate, "
    "--joints; gains, limits and armature with the model's"
)
_OVERRIDE = "--robot NAME confirms the robot, --joints gives the order"
_SIDES = (("left", "right"), ("fl", "fr"), ("rl", "rr"), ("hl", "hr"), ("l", "r"))


def by_name(found: FoundPolicy) -> bool:
    """Whether the joints are known by name, not by place."""
    return found.order is ValueOrder.NAMES


def about_order(
    found: FoundPolicy, matched: Matched, robot: Robot, *, confirmed: bool = False
) -> Iterator[Finding]:
    """Findings that point to a joint order of another robot.

    They refuse an import by place, unless the user has `confirmed` that it is the robot.
    """
    refuse = not by_name(found) and not confirmed
    yield from _about_ranges(found, matched, robot, refuse)
    yield from _about_sides(found, matched, refuse)
    if not by_name(found):
        yield warning(
            "order-by-place",
            ACTOR,
            (),
            f"the files have no joint names; by place they are {listed(matched.joints)}",
            "compare with the order the network was trained with; --joints gives another one",
        )


def about_probes(found: FoundPolicy, robot: Robot, scene: Path, policy: Path) -> Iterator[Finding]:
    """Short runs of the imported policy, with its joint order and with others.

    They are informative where a robot can fall, or where the policy turns an object to a goal. An
    order is named only if the policy does with it all that a healthy one does; else it is unclear.
    """
    if not robot.base and not any(term.data["type"] == TURNS for term in found.terms):
        why = "the base is fixed, so that a run with a wrong order does not fall"
        yield note("not-judged", ACTOR, (), f"not judged: order, signs and scales: {why}")
        return
    command = telling_command(policy)
    probes = order_probe(policy, World(Scene.load(scene)), ACTOR, command=command)
    yield from about_runs(probes, command)


def about_runs(probes: Sequence[OrderProbe], command: Sequence[float] | None) -> Iterator[Finding]:
    """What probe runs show, and what they cannot."""
    better, doubtful = better_order(probes, command), unclear(probes, command)
    if better is not None:
        yield warning(
            "order-probe", ACTOR, (), suspicion(probes), f"--joints {','.join(better.joints)}"
        )
    elif doubtful:
        yield warning("unclear", ACTOR, (), doubtful, _GUESSES)
    else:
        text = (
            "a healthy run of a few seconds speaks for order and signs; not judged: scales, the "
            "default pose and a rate that are somewhat off, effort limits, delays, friction of the "
            "ground, payload (mjrig replay tries some)"
        )
        yield note("not-judged", ACTOR, (), text)


def _about_ranges(
    found: FoundPolicy, matched: Matched, robot: Robot, refuse: bool
) -> Iterator[Finding]:
    outside = []
    for joint, value in zip(matched.joints, found.default, strict=True):
        limits = robot.range_of(joint)
        if limits is not None and not limits[0] - SLACK <= value <= limits[1] + SLACK:
            outside.append(f"{joint} {value:g} (range {limits[0]:.4g} to {limits[1]:.4g})")
    if outside:
        make = error if refuse else warning
        fix = f"another robot, or another order of its joints? {_OVERRIDE}; --default another pose"
        fix = fix if refuse else "--default gives another one"
        text = f"the default pose is out of range: {listed(outside)}"
        yield make("default-out-of-range", ACTOR, (), text, fix)


def _about_sides(found: FoundPolicy, matched: Matched, refuse: bool) -> Iterator[Finding]:
    """Left and right must have equal gains and scales, and equal default positions up to a sign."""
    for name, values in _compared(found).items():
        by_joint = dict(zip(matched.joints, values, strict=True))
        odd = []
        for left, right in pairs(matched.joints):
            one, other = by_joint[left], by_joint[right]
            alike = one == other or (name == "default pose" and one == -other)
            if not alike:
                odd.append(f"{left} {one:g}, {right} {other:g}")
        if odd:
            # Gains that differ between sides point to another order if joints are known by index.
            make = error if refuse and name != "default pose" else warning
            fix = f"is this the order of this robot's joints? {_OVERRIDE}" if refuse else ""
            text = f"{name} differs between left and right: {listed(odd)}"
            yield make("left-right", ACTOR, (), text, fix)


def _compared(found: FoundPolicy) -> dict[str, Sequence[float]]:
    values: dict[str, Sequence[float]] = {"default pose": found.default}
    scale = found.action.get("scale")
    if isinstance(scale, Sequence):
        values["action scale"] = scale
    for name in ("kp", "kv"):
        gains = getattr(found, name)
        if gains is not None:
            values[name] = gains
    return values


def pairs(joints: Sequence[str]) -> list[tuple[str, str]]:
    """Joints of the left side with their partners on the right."""
    found = []
    for joint in joints:
        partner = _partner(joint)
        if partner in joints:
            found.append((joint, partner))
    return found


def _partner(joint: str) -> str:
    """`FL_hip_joint` → `FR_hip_joint`; empty for a joint in the middle or on the right."""
    for left, right in _SIDES:
        match = re.search(rf"(^|_){left}(_|$)", joint, re.IGNORECASE)
        if match:
            place = match.start() + len(match.group(1))
            said = joint[place : place + len(left)]
            other = right.upper() if said.isupper() else right
            other = right.capitalize() if said.istitle() and len(said) > 1 else other
            return joint[:place] + other + joint[place + len(left) :]
    return ""
