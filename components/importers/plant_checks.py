"""Pre-flight: limits, armature, damping, friction and gains of the model against the files."""

import math
from collections.abc import Iterator

from mjrig.check.finding import Finding, note, warning
from mjrig.components.importers.sources.found import FoundPolicy
from mjrig.components.importers.sources.matching import Matched
from mjrig.components.importers.sources.robot import ACTOR, Robot
from mjrig.components.importers.writing import timing
from mjrig.control.plant import PER_JOINT, at_joint
from mjrig.names import listed

#: Numbers with a smaller relative difference are equal.
CLOSE = 0.005
#: h·kv/M: the law is unstable above 2; above this it is reported.
BOUND, NEAR = 2.0, 1.0
_DOFS = ("armature", "damping", "frictionloss")


def about_plant(found: FoundPolicy, matched: Matched, robot: Robot) -> Iterator[Finding]:
    """Training parameters against those of the model."""
    yield from _about_limits(found, matched, robot)
    for field in _DOFS:
        if field in found.trained:
            yield from _compared(found, matched, field, robot)
    if robot.is_servo and found.controllers is None:
        yield from _about_servo_gains(found, matched, robot)
    elif not robot.is_servo:
        yield from _about_stability(found, matched, robot)


def _compared(found: FoundPolicy, matched: Matched, field: str, robot: Robot) -> Iterator[Finding]:
    here = {j: robot.dof_value(field, j) for j in matched.joints}
    theirs = dict(zip(matched.joints, found.trained[field], strict=True))
    off = [j for j in matched.joints if abs(here[j] - theirs[j]) > CLOSE * max(theirs[j], 1e-9)]
    if not off:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for joint in off:
        unit = at_joint(PER_JOINT[field], slides=robot.actuator_of(joint).effort_unit == "N")
        same = (f"{here[joint]:.4g} {unit}", f"{theirs[joint]:.4g}")
        groups.setdefault(same, []).append(joint)
    how = "recovered from the files" if field in found.recovered else "in the files"
    for (ours, other), joints in groups.items():
        text = f"{field} is {ours} in the model, {other} {how}"
        yield warning("plant-differs", ACTOR, joints, text, f"dynamics: {{{field}: …}} sets it")


def _about_limits(found: FoundPolicy, matched: Matched, robot: Robot) -> Iterator[Finding]:
    where: dict[str, list[str]] = {}
    for joint in matched.joints:
        where.setdefault(robot.limit(joint)[1], []).append(joint)
    free = where.pop("", [])
    for place, joints in where.items():
        text = "efforts are limited by the model's " + place
        yield note("limit", ACTOR, (), f"{text} ({len(joints)} joints)")
    if free and found.limits is None:
        fix = "give the controller a torque_limit"
        yield warning("no-limit", ACTOR, free, "has no effort limit in the model or the files", fix)
    theirs = found.trained.get("torque_limit")
    if theirs is None:
        return
    limits = dict(zip(matched.joints, theirs, strict=True))
    recovered = "torque_limit" in found.recovered
    here = {j: robot.limit(j)[0] for j in matched.joints}
    if found.controllers and found.limits is not None:  # the law limits them besides the model
        own = dict(zip(matched.joints, found.limits, strict=True))
        here = {j: min(limit, own[j]) for j, limit in here.items()}
    off = [
        f"{j} {here[j]:g} here, {limits[j]:.4g} there"
        for j in matched.joints
        if math.isfinite(here[j]) and abs(here[j] - limits[j]) > CLOSE * limits[j]
    ]
    if off:
        how = "recovered from the files" if recovered else "in the files"
        text = f"effort limits of the model are not those {how} [N·m]: {listed(off)}"
        yield warning("limit-differs", ACTOR, (), text)


def _about_servo_gains(found: FoundPolicy, matched: Matched, robot: Robot) -> Iterator[Finding]:
    """Servo models use their own gains, not those of the files."""
    if found.kp is None or found.kv is None:
        return
    model = robot.model
    odd = []
    for joint, kp, kv in zip(matched.joints, found.kp, found.kv, strict=True):
        binding = robot.actuator_of(joint)
        own_kp = float(model.actuator_gainprm[binding.actuator_id, 0])
        own_kv = -float(model.actuator_biasprm[binding.actuator_id, 2])
        own_kv += robot.dof_value("damping", joint)
        if abs(own_kp - kp) > CLOSE * max(kp, 1e-9) or abs(own_kv - kv) > CLOSE * max(kv, 1e-9):
            odd.append(f"{joint} kp {own_kp:g} kv {own_kv:g} here, {kp:g} {kv:g} there")
    if odd:
        text = f"the model's own position actuators have other gains than the files: {listed(odd)}"
        fix = "take a model with motors, or give its actuators these gains"
        yield warning("gains-differ", ACTOR, (), text, fix)


def _about_stability(found: FoundPolicy, matched: Matched, robot: Robot) -> Iterator[Finding]:
    """An effort held over a step h makes a joint unstable where h·kv/M ≥ 2."""
    if found.kv is None:
        return
    timestep, _ = timing(found, robot)
    pose = dict(zip(matched.joints, found.default, strict=True))
    inertias = robot.inertias(pose)
    stages = {"": found.kv}
    if found.start is not None:
        stages[" while it stands"] = found.start.kv
    for stage, kv in stages.items():
        numbers = {j: timestep * v / inertias[j] for j, v in zip(matched.joints, kv, strict=True)}
        near = {j: x for j, x in numbers.items() if x > NEAR}
        if not near:
            continue
        worst = max(near, key=lambda j: near[j])
        text = f"h·kv/M is {near[worst]:.2f} at {worst}{stage}, bound 2"
        if near[worst] >= BOUND:
            fix = "a smaller timestep, or armature as in training; efforts saturate otherwise"
            yield warning("stability", ACTOR, tuple(near), text, fix, spelled=True)
        else:
            yield note("stability", ACTOR, tuple(near), f"{text}: stable, with little margin")
