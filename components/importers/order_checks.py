"""Pre-flight of the joint order: symmetry of sides, signs, ranges, short probe runs."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from mjrig.check.finding import Finding, error, warning
from mjrig.components.importers.sources.found import FoundPolicy, ValueOrder
from mjrig.components.importers.sources.matching import Matched
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.names import listed
from mjrig.scene_edit.scene import Scene
from mjrig.sim.world import World
from mjrig.sim2sim.diagnose.order_probe import TURNS, doubt, order_probe, suspicion, telling_command

#: How far outside of its range a default position may be [rad or m].
SLACK = 1e-3
_SIDES = (("left", "right"), ("fl", "fr"), ("rl", "rr"), ("hl", "hr"), ("l", "r"))


def about_order(found: FoundPolicy, matched: Matched, robot: Robot) -> Iterator[Finding]:
    """Findings that point to a joint order of another robot."""
    by_place = found.order is not ValueOrder.NAMES
    yield from _about_ranges(found, matched, robot, by_place)
    yield from _about_sides(found, matched, by_place)
    if by_place:
        yield warning(
            "order-by-place",
            ACTOR,
            (),
            f"the files have no joint names; by place they are {listed(matched.joints)}",
            "compare with the order the network was trained with",
        )


def about_probes(found: FoundPolicy, robot: Robot, scene: Path, policy: Path) -> Iterator[Finding]:
    """Short runs of the imported policy, with its joint order and with others.

    They are informative where a robot can fall, or where the policy turns an object to a goal.
    """
    if not robot.base and not any(term.data["type"] == TURNS for term in found.terms):
        return
    command = telling_command(policy)
    probes = order_probe(policy, World(Scene.load(scene)), ACTOR, command=command)
    against = suspicion(probes) or doubt(probes, command)
    if against:
        yield warning("order-probe", ACTOR, (), against, "correct joints: in policy.yaml")


def _about_ranges(
    found: FoundPolicy, matched: Matched, robot: Robot, by_place: bool
) -> Iterator[Finding]:
    outside = []
    for joint, value in zip(matched.joints, found.default, strict=True):
        limits = robot.range_of(joint)
        if limits is not None and not limits[0] - SLACK <= value <= limits[1] + SLACK:
            outside.append(f"{joint} {value:g} (range {limits[0]:.4g} to {limits[1]:.4g})")
    if outside:
        make = error if by_place else warning
        fix = "another robot, or another order of its joints?" if by_place else ""
        text = f"the default pose is out of range: {listed(outside)}"
        yield make("default-out-of-range", ACTOR, (), text, fix)


def _about_sides(found: FoundPolicy, matched: Matched, by_place: bool) -> Iterator[Finding]:
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
            make = error if by_place and name != "default pose" else warning
            fix = "is this the order of this robot's joints?" if by_place else ""
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
