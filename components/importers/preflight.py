"""Pre-flight of an import: joint order, limits and gains, timing and sizes against the robot."""

import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mjrig.components.importers.sources.joint_matching import ImportCase, other_robot
from mjrig.components.importers.sources.policy_description import Begin, FoundPolicy, ValueOrder
from mjrig.components.importers.sources.robot import ACTOR
from mjrig.core.control.plant import PER_JOINT, at_joint
from mjrig.core.findings import Finding, error, note, warning
from mjrig.core.scene.editing.scene import Scene
from mjrig.core.sim.world import World
from mjrig.lab.findings.ranking import arrange
from mjrig.lab.replay.diagnosis.order_probe import (
    TURNS,
    OrderProbe,
    better_order,
    order_probe,
    suspicion,
    telling_command,
    unclear,
)

# Order checks -------------------------------------------------------------------------------------

#: How far outside of its range a default position may be [rad or m].
SLACK = 1e-3
_SIDES = (("left", "right"), ("fl", "fr"), ("rl", "rr"), ("hl", "hr"), ("l", "r"))


def by_name(found: FoundPolicy) -> bool:
    """Whether the joints are known by name, not by place."""
    return found.order is ValueOrder.NAMES


def _about_order(case: ImportCase) -> Iterator[Finding]:
    """Findings that point to a joint order of another robot.

    They refuse an import by index, unless the user has confirmed that it is the robot.
    """
    refuse = not by_name(case.found) and not case.source.overrides.robot
    yield from _about_ranges(case, refuse)
    yield from _about_sides(case, refuse)
    if not by_name(case.found):
        yield warning("order-by-place", ACTOR, here=list(case.matched.joints))


def about_probes(case: ImportCase, scene: Path, policy: Path) -> Iterator[Finding]:
    """Short runs of the imported policy, with its joint order and with others.

    They are informative where a robot can fall, or where the policy turns an object to a goal. An
    order is named only if the policy does with it all that a healthy one does; else it is unclear.
    """
    if not case.robot.base and all(term.data["type"] != TURNS for term in case.found.terms):
        yield note("not-judged", ACTOR, reason="fixed-base", form="not-judged fixed base")
        return
    command = telling_command(policy)
    probes = order_probe(policy, World(Scene.load(scene)), ACTOR, command=command)
    yield from about_runs(probes, command)


def about_runs(probes: Sequence[OrderProbe], command: Sequence[float] | None) -> Iterator[Finding]:
    """What probe runs show, and what they cannot."""
    better, doubtful = better_order(probes, command), unclear(probes, command)
    if better is not None:
        joints = ",".join(better.joints)
        evidence = suspicion(probes)
        yield warning("order-probe", ACTOR, expected=better.joints, joints=joints, **evidence)
    elif doubtful:
        yield warning("unclear", ACTOR, **doubtful)
    else:
        yield note("not-judged", ACTOR, form="not-judged healthy")


def _about_ranges(case: ImportCase, refuse: bool) -> Iterator[Finding]:
    outside = []
    for joint, value in case.pose.items():
        limits = case.robot.range_of(joint)
        if limits is not None and not limits[0] - SLACK <= value <= limits[1] + SLACK:
            outside.append(f"{joint} {value:g} (range {limits[0]:.4g} to {limits[1]:.4g})")
    if outside:
        make = error if refuse else warning
        form = "default-out-of-range by index" if refuse else ""
        yield make("default-out-of-range", ACTOR, form=form, here=outside)


def _about_sides(case: ImportCase, refuse: bool) -> Iterator[Finding]:
    """Left and right must have equal gains and scales, and equal default positions up to a sign."""
    for name, values in _compared(case.found).items():
        by_joint = case.by_joint(values)
        odd = []
        for left, right in pairs(case.matched.joints):
            one, other = by_joint[left], by_joint[right]
            alike = one == other or (name == "default pose" and one == -other)
            if not alike:
                odd.append(f"{left} {one:g}, {right} {other:g}")
        if odd:
            # Gains that differ between sides point to another order if joints are known by index.
            make = error if refuse and name != "default pose" else warning
            yield make("left-right", ACTOR, here=odd, property=name, by_index=refuse)


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
            side = joint[place : place + len(left)]
            other = right.upper() if side.isupper() else right
            other = right.capitalize() if side.istitle() and len(side) > 1 else other
            return joint[:place] + other + joint[place + len(left) :]
    return ""


# Plant checks -------------------------------------------------------------------------------------

#: Numbers with a smaller relative difference are equal.
CLOSE = 0.005
#: h·kv/M: the law is unstable above 2; above this it is reported.
BOUND, NEAR = 2.0, 1.0
_DOFS = ("armature", "damping", "frictionloss")


def _about_plant(case: ImportCase) -> Iterator[Finding]:
    """Training parameters against those of the model."""
    yield from _about_limits(case)
    for field in _DOFS:
        if field in case.found.trained:
            yield from _compare_plant(case, field)
    if case.robot.is_servo and case.found.controllers is None:
        yield from _about_servo_gains(case)
    elif not case.robot.is_servo:
        yield from _about_stability(case)


def _compare_plant(case: ImportCase, field: str) -> Iterator[Finding]:
    found, robot = case.found, case.robot
    here = {j: robot.dof_value(field, j) for j in case.matched.joints}
    theirs = case.by_joint(found.trained[field])
    off = [j for j in here if abs(here[j] - theirs[j]) > CLOSE * max(theirs[j], 1e-9)]
    if not off:
        return
    groups: dict[tuple[str, str], list[str]] = {}
    for joint in off:
        unit = at_joint(PER_JOINT[field], slides=robot.actuator_of(joint).effort_unit == "N")
        same = (f"{here[joint]:.4g} {unit}", f"{theirs[joint]:.4g}")
        groups.setdefault(same, []).append(joint)
    source = "recovered from the files" if field in found.recovered else "in the files"
    for (ours, other), joints in groups.items():
        values = {"here": ours, "expected": other, "property": field, "source": source}
        yield warning("plant-differs", ACTOR, joints, **values)


def _about_limits(case: ImportCase) -> Iterator[Finding]:
    found, model = case.found, {j: case.robot.limit(j) for j in case.matched.joints}
    where: dict[str, list[str]] = {}
    for joint, (_, source) in model.items():
        where.setdefault(source, []).append(joint)
    free = where.pop("", [])
    for place, joints in where.items():
        yield note("limit", ACTOR, attribute=place, joints=len(joints))
    if free and found.limits is None:
        yield warning("no-limit", ACTOR, free, form="no-limit import")
    theirs = found.trained.get("torque_limit")
    if theirs is None:
        return
    limits = case.by_joint(theirs)
    recovered = "torque_limit" in found.recovered
    here = {j: limit for j, (limit, _) in model.items()}
    if found.controllers and found.limits is not None:  # the law limits them besides the model
        own = case.by_joint(found.limits)
        here = {j: min(limit, own[j]) for j, limit in here.items()}
    off = [
        f"{j} {here[j]:g} here, {limits[j]:.4g} there"
        for j in here
        if math.isfinite(here[j]) and abs(here[j] - limits[j]) > CLOSE * limits[j]
    ]
    if off:
        source = "recovered from the files" if recovered else "in the files"
        yield warning("limit-differs", ACTOR, here=off, unit="N·m", source=source)


def _about_servo_gains(case: ImportCase) -> Iterator[Finding]:
    """Servo models use their own gains, not those of the files."""
    found, robot = case.found, case.robot
    if found.kp is None or found.kv is None:
        return
    model = robot.model
    odd = []
    for joint, kp, kv in zip(case.matched.joints, found.kp, found.kv, strict=True):
        binding = robot.actuator_of(joint)
        own_kp = float(model.actuator_gainprm[binding.actuator_id, 0])
        own_kv = -float(model.actuator_biasprm[binding.actuator_id, 2])
        own_kv += robot.dof_value("damping", joint)
        if abs(own_kp - kp) > CLOSE * max(kp, 1e-9) or abs(own_kv - kv) > CLOSE * max(kv, 1e-9):
            odd.append(f"{joint} kp {own_kp:g} kv {own_kv:g} here, {kp:g} {kv:g} there")
    if odd:
        yield warning("gains-differ", ACTOR, here=odd)


def _about_stability(case: ImportCase) -> Iterator[Finding]:
    """An effort held over a step h makes a joint unstable where h·kv/M ≥ 2."""
    found = case.found
    if found.kv is None:
        return
    timestep, _ = case.timing
    inertias = case.robot.inertias(case.pose)
    stages = {"": found.kv}
    if found.start is not None:
        stages["while it stands"] = found.start.kv
    for stage, kv in stages.items():
        numbers = {j: timestep * v / inertias[j] for j, v in case.by_joint(kv).items()}
        near = {j: x for j, x in numbers.items() if x > NEAR}
        if not near:
            continue
        worst = max(near, key=lambda j: near[j])
        values = {"here": near[worst], "expected": BOUND, "worst": worst, "stage": stage}
        if near[worst] >= BOUND:
            yield warning("stability", ACTOR, near, form="stability lost", spelled=True, **values)
        else:
            yield note("stability", ACTOR, near, **values)


# Preflight ----------------------------------------------------------------------------------------

#: Start farther from the default pose than this is reported [rad].
AWAY = 0.05
_BASE_TERMS = ("BaseAngularVelocity", "BaseLinearVelocity", "BaseOrientation", "ProjectedGravity")


def findings(case: ImportCase) -> list[Finding]:
    """All findings, most severe first."""
    return arrange(_findings(case))


def _findings(case: ImportCase) -> Iterator[Finding]:
    yield from _about_joints(case)
    yield from _about_order(case)
    yield from _about_observation(case)
    yield from _about_network(case)
    yield from _about_timing(case)
    yield from _about_start(case)
    yield from _about_actuators(case)
    yield from _about_plant(case)
    if case.source.unnamed:
        names = [f"{path.parent.name}/{path.name}" for path in case.source.unnamed]
        yield note("beside", ACTOR, here=names)
    for doubt in case.found.doubts:
        make = note if doubt.mild else warning
        yield make(doubt.code, ACTOR, form="in the files", detail=doubt.text, advice=doubt.fix)
    if case.found.gap:
        yield warning("gap", ACTOR, here=case.found.gap)
    for text in case.found.assumed:
        yield note("assumed", ACTOR, form="in the files", detail=text)


def _about_joints(case: ImportCase) -> Iterator[Finding]:
    chosen, named = case.source.overrides.robot, by_name(case.found)
    robots = other_robot(case.found, case.robot, chosen)
    if robots:
        theirs, ours, *also = robots
        evidence: dict[str, Any] = {"chosen": chosen, "also": also}
        evidence |= {"model": "" if chosen else case.robot.label}
        evidence |= {"by_name": named, "by_index": not named}
        yield warning("other-robot", ACTOR, here=ours, expected=theirs, **evidence)
    for theirs, ours in case.matched.aliases.items():
        yield note("joint-alias", ACTOR, (ours,), here=ours, expected=theirs)
    held = {case.robot.motors[h.motor] for h in case.found.held if h.motor < len(case.robot.motors)}
    extra = [j for j in case.matched.extra if j not in held]
    if extra:
        yield warning("joint-extra", ACTOR, extra)


def _about_observation(case: ImportCase) -> Iterator[Finding]:
    """Observation size: of the terms, of the files, and of the network."""
    found = case.found
    unknown = [t.data["type"] for t in found.terms if not t.size]
    if unknown:
        yield note("observation-size", ACTOR, form="observation-size unknown", here=unknown)
        return
    built = found.observation_size
    parts = " + ".join(f"{t.data['type']} {t.length}" for t in found.terms)
    if found.size is not None and found.size != built:
        values = {"here": built, "expected": found.size, "parts": parts}
        yield error("observation-size", ACTOR, form="observation-size declared", **values)
    for name in dict.fromkeys(("", *(str(t.data.get("input", "")) for t in found.terms))):
        yield from _about_input(case, name)
    for term in found.terms:
        yield from _about_names(case, dict(term.data))


def _about_input(case: ImportCase, name: str) -> Iterator[Finding]:
    """The size of one input of the network; empty: the one that takes the observation."""
    network = case.source.network
    if network is None:
        return
    own = [t for t in case.found.terms if t.data.get("input", "") == name]
    if not name and not own and case.found.terms:
        return  # every input has terms of its own
    built = sum(t.length for t in own)
    takes = network.width(network.observation) if not name else network.values(name)
    if takes is not None and takes != built:
        parts = " + ".join(f"{t.data['type']} {t.length}" for t in own)
        values = {"here": built, "expected": takes, "parts": parts, "input": name}
        yield error("observation-size", ACTOR, network=network.path.name, **values)


def _about_names(case: ImportCase, data: dict[str, object]) -> Iterator[Finding]:
    robot = case.robot
    known = {"sensor": robot.sensors, "minus": robot.sensors, "other": robot.sensors,
             "site": robot.sites}  # fmt: skip
    named = {key: data[key] for key in known if data.get(key)}
    for key, name in named.items():
        if name not in known[key]:
            what = "site" if key == "site" else "sensor"
            yield error("missing-name", ACTOR, term=data["type"], element=what, expected=name)
    if data["type"] in _BASE_TERMS and not named and not robot.base:
        yield error("no-base", ACTOR, term=data["type"], model=robot.label)


def _about_network(case: ImportCase) -> Iterator[Finding]:
    network = case.source.network
    if network is None:
        return
    if network.onnx is None:
        yield note("torchscript", ACTOR, network=network.path.name)
        return
    gives = network.width(network.action)
    if gives is not None and gives != case.found.count:
        values = {"here": gives, "expected": case.found.count}
        yield error("action-size", ACTOR, network=network.path.name, **values)
    recurrent = network.recurrent()
    special = {network.observation, *recurrent, case.found.network.get("time_step", "")}
    special |= {str(term.data.get("input", "")) for term in case.found.terms}
    for name in network.inputs:
        if name not in special:
            yield error("network-input", ACTOR, input=name, network=network.path.name)
    if recurrent:
        yield note("recurrent", ACTOR, here=[f"{a} ← {b}" for a, b in recurrent.items()])


def _about_timing(case: ImportCase) -> Iterator[Finding]:
    timestep, decimation = case.timing
    if case.found.timestep is None:
        values = {"here": timestep, "unit": "s", "decimation": decimation}
        yield note("timestep", ACTOR, form="timestep assumed", **values)
    elif abs(timestep - case.robot.timestep) > 1e-12:
        yield note("timestep", ACTOR, here=case.robot.timestep, expected=timestep, unit="s")
    if case.found.phase in ("after", "inside"):
        phase = case.found.phase
        yield note("phase", ACTOR, form=f"phase {phase}", here=phase, decimation=decimation)
    if case.found.state == "float32":
        yield note("float32", ACTOR)


def _about_height(case: ImportCase) -> Iterator[Finding]:
    """Height of the base where no file and no keyframe names one."""
    found, robot = case.found, case.robot
    if not robot.base or case.source.overrides.height is not None or found.base is not None:
        return
    if found.begin is Begin.DEFAULT:
        yield note("start-height", ACTOR, here=robot.floor_height(case.pose), unit="m")


def _about_start(case: ImportCase) -> Iterator[Finding]:
    yield from _about_height(case)
    if case.found.begin is Begin.RESET:
        model = case.robot.model
        away = {
            j: abs(v - float(model.qpos0[case.robot.actuator_of(j).qpos_address]))
            for j, v in case.pose.items()
        }
        worst = max(away, key=lambda j: away[j])
        if away[worst] > AWAY:
            yield note("start-pose", ACTOR, (worst,), here=away[worst], unit="rad")
    if case.found.start is not None:
        yield note("start-gains", ACTOR, here=case.found.start.duration, unit="s")


def _about_actuators(case: ImportCase) -> Iterator[Finding]:
    robot = case.robot
    own = case.found.controllers is not None  # the files describe every actuator
    for joint in case.matched.joints:
        binding = robot.actuator_of(joint)
        if not own and binding.kind not in ("motor", "position", "pid"):
            yield error("actuator-kind", ACTOR, (binding.actuator,), here=binding.kind)
        if abs(binding.factor) != 1.0 and binding.kind == "motor":
            yield note("gear", ACTOR, (binding.actuator,), here=binding.factor, expected=1.0)
    kinds = {robot.actuator_of(j).kind == "motor" for j in case.matched.joints}
    if len(kinds) == 2 and not own:
        yield error("actuator-kind", ACTOR, form="actuator-kind mixed")
    if case.found.kp is None and not robot.is_servo and not own:
        yield error("no-gains", ACTOR)
