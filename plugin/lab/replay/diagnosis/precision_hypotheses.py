"""Hypotheses about precision: float32 in the recording and not in this world, or the reverse."""

from collections.abc import Iterator
from contextlib import suppress

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.sim.world import World
from mjrig.lab.replay.diagnosis.hypothesis import MAX_SAMPLES, ROUNDING
from mjrig.lab.replay.diagnosis.policy_case import LayoutTerm, PolicyCase, real_ticks
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.repairs import joint_slots, resolved
from mjrig.lab.rollouts.world_copy import twin

# Controllers --------------------------------------------------------------------------------------
# Controllers that compute in another precision than the recording's: the difference begins tiny.


def controller_precision(case: ReplayCase) -> Iterator[Finding]:
    """Controllers with which the same run in another precision is the recorded one."""
    try:
        copied = case.error(world=twin(case.world))
    except MjrigError:
        return  # its files are gone, or it was put together in Python
    if abs(copied - case.before) > ROUNDING * case.before:
        return  # a copy does not repeat it: what differs is not in the scene
    for pair in case.matches:
        for label, here, other, world in _other_precisions(case.world, pair.robot.name):
            share = case.share(case.error(world=world))
            if share > 1.0 - ROUNDING:
                edit, kind = repair("scene", f"{label}.precision", other), "precision"
                yield replay_finding(kind, label, other, here, kind, share, (edit,))


def _other_precisions(world: World, robot: str) -> Iterator[tuple[str, str, str, World]]:
    """Per controller: its path, its precision, the other one, and a world with that."""
    for place, component in enumerate(world[robot].components):
        known = {p.name for p in component.properties()}
        if "precision" not in known or not component.__dict__.get("enabled", True):
            continue
        here = component.__dict__["precision"]
        other = next(str(c) for c in type(here) if c != here)
        with suppress(MjrigError):
            copy = twin(world)
            own = copy[robot]
            changed = own.components[place].copy()
            own.remove_component(own.components[place])
            changed.assign({"precision": other})
            own.add_component(changed)
            copy.reset()
            yield component.label, str(here), other, copy


# Recorded values ----------------------------------------------------------------------------------
# Numbers that were rounded to float32 in the recording and are not here, or the other way.


#: Share of the values that must be bit-identical to know how they were computed: a policy may
#: have been reset in between.
ALL = 0.99
FLOAT32, FLOAT64 = "float32", "float64"


def value_precision(case: PolicyCase) -> Iterator[Finding]:
    """Precision of measured states and of targets, where recorded numbers show it bit by bit."""
    for values in _measured(case):
        found = list(_found(case, "state", values))
        if found:
            yield from found
            break
    yield from _found(case, "action.dtype", _targets(case))


#: Recorded numbers, and what each precision makes of the same inputs, in one or more ways.
Pair = tuple[FloatArray, dict[str, list[FloatArray]]]


def _found(case: PolicyCase, path: str, values: Pair | None) -> Iterator[Finding]:
    if values is None:
        return
    recorded, made = values
    data: object = case.said
    for key in path.split("."):
        data = (data.get(key) if isinstance(data, dict) else None) or ""
    here = str(data) or (FLOAT64 if path == "state" else FLOAT32)
    same = {name: max(float(np.mean(recorded == v)) for v in ways) for name, ways in made.items()}
    other = FLOAT32 if here == FLOAT64 else FLOAT64
    if same[other] >= ALL > same[here]:
        edit = repair("policy", path, other)
        yield replay_finding(
            "precision",
            path,
            other,
            here,
            "precision of values",
            1.0,
            (edit,),
            count=recorded.size,
            same=same[other],
            same_here=same[here],
        )


def _measured(case: PolicyCase) -> Iterator[Pair]:
    """Observed joint velocities and positions, from recorded states."""
    layout, recorded = case.layout, case.match.recorded
    if layout is None or recorded.qvel is None or case.recomputed is None:
        return
    rows = np.searchsorted(recorded.step, case.ticks.step[case.recomputed.ticks])
    names = dict(zip(case.file_joints, case.policy.joints, strict=True))
    columns = {here.name: (there.qpos.start, there.dof.start) for there, here in case.match.single}
    for term, places in zip(layout.terms, layout.places(), strict=True):
        mine = [columns.get(names.get(j, j)) for j in term.joints]
        if term.kind not in ("JointVelocities", "JointPositions") or None in mine:
            continue
        if term.said.get("clip") is not None:
            continue
        places_of = np.array(mine, dtype=np.intp)
        if term.kind == "JointVelocities":
            seen, zero = recorded.qvel[rows][:, places_of[:, 1]], np.zeros(len(mine))
        else:
            seen, zero = recorded.qpos[rows][:, places_of[:, 0]], _pose(case, term)
        scale = term.scale
        moves = np.any(case.recomputed.here[:, places[0]] != 0.0, axis=0)
        # A stack that measures in float32 may compute in it too.
        ways = {
            FLOAT64: [(seen - zero) * scale],
            FLOAT32: [(_rounded(seen) - zero) * scale, _single(seen, zero, scale)],
        }
        rounded = {name: [_rounded(x)[:, moves] for x in w] for name, w in ways.items()}
        yield case.recomputed.recorded[:, places[0]][:, moves], rounded


def _pose(case: PolicyCase, term: LayoutTerm) -> FloatArray:
    """What is subtracted from positions, as precise as the targets."""
    if not term.said.get("relative", True):
        return np.zeros(term.size)
    whole = resolved(case.said.get("default"), joint_slots(case.file_joints), 0.0)
    if (case.said.get("action") or {}).get("dtype", FLOAT32) == FLOAT32:
        whole = _rounded(whole)
    return whole[[case.file_joints.index(j) for j in term.joints]]


def _targets(case: PolicyCase) -> Pair | None:
    """Recorded targets, from recorded actions; None: another rule made them."""
    action = case.said.get("action") or {}
    plain = action.get("mode", "absolute") == "absolute" and action.get("offset", "default") == (
        "default"
    )
    odd = action.get("smoothing", 1.0) != 1.0 or action.get("clip_target") or action.get("targets")
    joints = list(case.policy.joints)
    if not plain or odd or case.match.recorded.commands is None or set(case.joints) != set(joints):
        return None
    slots = joint_slots(case.file_joints)
    scale = resolved(action.get("scale"), slots, 1.0)
    pose = resolved(case.said.get("default"), slots, 0.0)
    rows = real_ticks(case.ticks)[:MAX_SAMPLES]
    targets = case.targets_at(joints, case.ticks.step[rows], "position")
    outputs = case.ticks.action[rows][:, [case.joints.index(j) for j in joints]]
    clip = action.get("clip")
    # Whether actions were recorded before or after the clip: inside of it they are the same.
    bound = np.inf if clip is None else np.min(np.abs(np.asarray(clip, dtype=np.float64)))
    free = np.abs(outputs) < bound
    if not free.any():
        return None

    def made(dtype: npt.DTypeLike) -> FloatArray:
        found: FloatArray = (
            outputs.astype(dtype) * scale.astype(dtype) + pose.astype(dtype)
        ).astype(np.float64)
        return found[free]

    return targets[free], {FLOAT32: [made(np.float32)], FLOAT64: [made(np.float64)]}


def _rounded(values: FloatArray) -> FloatArray:
    found: FloatArray = values.astype(np.float32).astype(np.float64)
    return found


def _single(a: FloatArray, b: FloatArray, scale: FloatArray) -> FloatArray:
    x, zero, factor = (v.astype(np.float32) for v in (a, b, scale))
    found: FloatArray = ((x - zero) * factor).astype(np.float64)
    return found
