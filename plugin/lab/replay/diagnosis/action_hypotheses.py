"""Hypotheses about actions: scale, offset, sign, filter, clips, late or lost setpoints, network.

Policies often smooth their actions: `a ← (1 − β)·a_last + β·net`. A target is then a straight line
over the smoothed action; β = 1 is no filter.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.errors import MjrigError
from mjrig.core.findings import Finding
from mjrig.core.names import how_many, listed
from mjrig.lab.replay.diagnosis.hypothesis import (
    EXACT,
    MAX_SAMPLES,
    MIN_OFFSET,
    MIN_SAMPLES,
    ROUNDING,
    Answers,
    NotJudged,
)
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase, clipped, real_ticks
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.repairs import joint_slots, one_or_each, resolved, some

# Lines --------------------------------------------------------------------------------------------
# Lines through targets over actions, straight or through a first-order filter.


#: A line passes through at least this share of the points: clipped ones are off it.
MIN_ON_LINE = 0.3
#: An action or a target that moves less determines no line [rad or m].
STILL = 1e-4
#: Most joints, of those that move, must agree about what is true of all.
MAJORITY = 0.5
#: Filters that differ by less are the same.
ALIKE = 0.01


@dataclass(frozen=True)
class ActionLine:
    """Target = slope · action + offset, and the largest error it leaves."""

    slope: float
    offset: float
    rest: float


def action_line(
    action: FloatArray, target: FloatArray, bound: float = np.inf, beta: float = 1.0
) -> ActionLine | None:
    """The line of one joint's targets over its actions, tick by tick; None: there is none.

    Args:
        action: outputs of the network.
        target: what they became.
        bound: up to which size an action surely passes its clip.
        beta: of the filter.
    """
    columns = [_smoothed(action, beta), np.ones(len(action))]
    if beta < 1.0:  # what the filter held before the first tick fades
        columns.append(np.power(1.0 - beta, np.arange(len(action))).astype(np.float64))
    found = _through_most(np.stack(columns, axis=1), target, np.abs(action) < bound)
    return None if found is None else ActionLine(float(found[0][0]), float(found[0][1]), found[1])


def recorded_filter(actions: FloatArray, targets: FloatArray, bound: float) -> float | None:
    """The β that turned actions into targets, (ticks, joints) each; None: no such filter did.

    `t_k = (1 − β)·t_{k−1} + β·(s·a_k + o)` is linear in what is known, joint by joint.
    """
    found = []
    moving = [i for i in range(actions.shape[1]) if np.ptp(targets[:, i]) > STILL]
    for i in moving:
        a, t = actions[1:, i], targets[:, i]
        law = np.stack([a, np.ones(len(a)), t[:-1]], axis=1)
        fit = _through_most(law, t[1:], np.abs(a) < bound)
        if fit is not None and abs(fit[0][0]) > 1e-9:
            found.append(1.0 - float(fit[0][2]))
    if not found or len(found) < MAJORITY * len(moving):
        return None
    beta = float(np.median(found))
    agree = np.mean(np.abs(np.array(found) - beta) < 2 * ALIKE) > MAJORITY
    if not agree or not ALIKE < beta < 1.0 + ALIKE:
        return None
    return 1.0 if abs(beta - 1.0) < ALIKE else float(f"{beta:.4g}")


def _smoothed(action: FloatArray, beta: float) -> FloatArray:
    if beta >= 1.0:
        return action
    found = np.empty(len(action))
    last = 0.0
    for k, value in enumerate(action.tolist()):
        last = (1.0 - beta) * last + beta * value
        found[k] = last
    return found


def _through_most(
    columns: FloatArray, wanted: FloatArray, keep: npt.NDArray[np.bool_]
) -> tuple[FloatArray, float] | None:
    """Coefficients through most points, and the largest error at those; None: not exact.

    The first column is that of the actions: without movement in it nothing is known.
    """
    keep = keep.copy()
    least = max(5, MIN_ON_LINE * len(wanted))
    for _ in range(4):
        if keep.sum() < least or np.ptp(columns[keep, 0]) < STILL:
            return None
        moved = float(np.ptp(wanted[keep]))
        if moved < ROUNDING:
            return None
        found, *_ = np.linalg.lstsq(columns[keep], wanted[keep], rcond=None)
        rest = np.abs(columns @ found - wanted)
        worst = float(rest[keep].max())
        if worst < min(MIN_OFFSET, EXACT * moved):
            return found.astype(np.float64), worst
        keep &= rest < max(np.median(rest[keep]) * 2.0, 1e-9)
    return None


# Targets ------------------------------------------------------------------------------------------
# What recorded actions became, joint by joint.


#: Relative difference of scales that counts.
SCALE = 5e-3
#: Ticks by which setpoints may be late.
MAX_LATE_TICKS = 5
#: Reduced actions end at a clip within this share of it.
SAME_BOUND = 1e-3


class Targets:
    """Recorded targets over recorded actions: the lines of the policy's joints."""

    def __init__(self, case: PolicyCase) -> None:
        self.case, self.action = case, case.action
        self.mode = str(self.action.get("mode", "absolute"))
        self.joints = list(case.policy.joints)
        rows = real_ticks(case.ticks)
        columns = [case.joints.index(j) for j in self.joints]
        self.steps = case.ticks.step[rows]
        #: Recorded actions, (ticks, joints).
        self.actions = case.ticks.action[rows][:, columns].astype(np.float64)
        plant = case.policy.plant().joints
        self.scale = np.array([plant["action_scale"][j] for j in self.joints])
        self.pose = plant.get("default_pose", {})

    @cached_property
    def velocities(self) -> set[str]:
        """Joints whose recorded position targets never move while their velocity targets do."""
        q, v = (
            self.case.targets_at(self.joints, self.steps, row) for row in ("position", "velocity")
        )
        still = (np.ptp(q, axis=0) < 1e-9) & (np.ptp(v, axis=0) > ROUNDING)
        return {j for j, s in zip(self.joints, still, strict=True) if s}

    def moved(self, joint: str, mode: str = "", steps: int = 0) -> FloatArray:
        """What an action of a joint became so many steps after each tick: target, or its change."""
        at, row = self.steps + steps, "velocity" if joint in self.velocities else "position"
        target = self.case.targets_at([joint], at, row)[:, 0]
        if (mode or self.mode) == "delta":
            target = target - self.case.targets_at([joint], at - 1, row)[:, 0]
        return target

    @property
    def bound(self) -> float:
        """Up to which size an action surely passes its clip."""
        clip: Any = self.action.get("clip")
        return np.inf if clip is None or isinstance(clip, str) else float(np.abs(clip).min())

    @cached_property
    def recorded_beta(self) -> float | None:
        """The filter between recorded actions and targets; None: it is not known."""
        if self.mode == "measured":
            return None
        targets = np.stack([self.moved(j) for j in self.joints], axis=1)
        return recorded_filter(self.actions, targets, self.bound)

    @property
    def beta(self) -> float:
        """The same; 1 where it is not known."""
        return 1.0 if self.recorded_beta is None else self.recorded_beta

    def line(self, column: int, other: int | None = None) -> ActionLine | None:
        """The line of a joint's targets over its actions, or over those of another joint."""
        if self.mode == "measured":
            return None
        action = self.actions[:, column if other is None else other]
        return action_line(action, self.moved(self.joints[column]), self.bound, self.beta)

    @cached_property
    def lines(self) -> dict[int, ActionLine]:
        """The lines of joints that have one."""
        every = {i: self.line(i) for i in range(len(self.joints))}
        return {i: line for i, line in every.items() if line is not None}

    @cached_property
    def wrong(self) -> list[int]:
        """Joints whose recorded scale is not the one here."""
        return [
            i
            for i, line in self.lines.items()
            if abs(line.slope - self.scale[i]) > SCALE * abs(self.scale[i])
        ]


def action_filter(case: PolicyCase) -> Iterator[Finding]:
    """Another first-order filter between actions and targets."""
    recorded, here = case.view(Targets).recorded_beta, float(case.action.get("smoothing", 1.0))
    if recorded is not None and abs(recorded - here) >= ALIKE:
        yield _filter(recorded, here, "action filter")


def _filter(recorded: float, here: float, form: str) -> Finding:
    """Another filter of the actions; 1: none."""
    there, now = (f"β {b:g}" if b < 1.0 else "none" for b in (recorded, here))
    edit = repair("policy", "action.smoothing", recorded)
    beta = recorded if recorded < 1.0 else 0.0
    return replay_finding("action filter", "", there, now, form, 1.0, (edit,), beta=beta)


def order_of_setpoints(case: PolicyCase) -> Iterator[Finding]:
    """Targets that follow the actions of other joints: the setpoints are in another order."""
    targets = case.view(Targets)
    joints, every = targets.joints, range(len(targets.joints))
    if len(targets.lines) == len(joints) or targets.mode == "measured":
        return
    followed = {a: [b for b in every if targets.line(a, b) is not None] for a in every}
    sure = {a: others[0] for a, others in followed.items() if len(others) == 1}
    moved = sum(a != b for a, b in sure.items())
    if moved < 2 or len(set(sure.values())) < len(sure):
        return
    order, many = [joints[sure.get(a, a)] for a in every], how_many(moved, "joint")
    yield replay_finding("joint order", many, joints, order, "joint order of setpoints", 1.0)


def late_setpoints(case: PolicyCase) -> Iterator[Finding]:
    """Setpoints that come some physics steps after the tick whose actions they follow.

    Setpoints before their actions are not sought: then it is as likely that actions are late.
    """
    targets = case.view(Targets)
    if targets.lines:
        return
    for steps in range(1, MAX_LATE_TICKS * case.policy.tick_steps + 1):
        if _many_lines(targets, steps=steps):
            there = f"{how_many(steps, 'physics step')} later"
            kind, form = "tick phase", "tick phase late"
            yield replay_finding(kind, "", there, "at the tick", form, 1.0, steps=steps)
            return


def action_mode(case: PolicyCase) -> Answers:
    """Targets that follow actions as another mode has it."""
    targets = case.view(Targets)
    if targets.lines:
        return
    other = {"absolute": "delta", "delta": "absolute"}.get(targets.mode, "")
    count = _many_lines(targets, mode=other) if other else 0
    if not count:
        yield NotJudged("action to target: targets do not follow actions on a straight line")
        return
    edit, kind = repair("policy", "action.mode", other), "action mode"
    yield replay_finding(kind, "", other, targets.mode, kind, 1.0, (edit,), joints=count)


def _many_lines(targets: Targets, *, mode: str = "", steps: int = 0) -> int:
    """How many joints' targets are lines over their actions; 0: few."""
    bound = np.inf if mode else targets.bound
    moved = [targets.moved(j, mode, steps) for j in targets.joints]
    lines = [action_line(a, m, bound) for a, m in zip(targets.actions.T, moved, strict=True)]
    count = sum(line is not None for line in lines)
    return count if count > MAJORITY * len(lines) else 0


def action_scale(case: PolicyCase) -> Answers:
    """Other slopes: another scale, degrees, or another sign."""
    targets = case.view(Targets)
    joints, scale, wrong, lines = targets.joints, targets.scale, targets.wrong, targets.lines
    if wrong:
        kind = "action_scale"
        if all(abs(lines[i].slope + scale[i]) < SCALE * abs(scale[i]) for i in wrong):
            kind = "sign"
        elif all(abs(math.radians(lines[i].slope / scale[i]) - 1.0) < SCALE for i in wrong):
            kind = "units"
        new = {joints[i]: float(f"{lines[i].slope:.5g}") for i in wrong}
        old = {joints[i]: float(f"{scale[i]:.7g}") for i in wrong}
        worst = max(wrong, key=lambda i: lines[i].rest)
        unit = case.unit_of(
            [joints[worst]], "rad/s" if joints[worst] in targets.velocities else "rad"
        )
        authored = targets.action.get("scale")
        edit = case.joint_edit("action.scale", 1.0 if authored is None else authored, new, old)
        there, now = one_or_each(new, old)
        yield replay_finding(
            kind, some(list(new)), there, now, "action scale", 1.0, (edit,),
            residual=lines[worst].rest, residual_unit=unit,
        )  # fmt: skip
    still = [
        j
        for i, j in enumerate(joints)
        if lines and i not in lines and np.ptp(targets.actions[:, i]) < STILL
    ]
    if still:
        yield NotJudged(f"action scale of {listed(still)}: their actions do not move")


def action_clip(case: PolicyCase) -> Iterator[Finding]:
    """A clip of the actions here that recorded targets do not show, or the other way round."""
    targets = case.view(Targets)
    clip: Any = targets.action.get("clip")
    if targets.wrong or targets.beta < 1.0 or np.size(clip) > 2 or isinstance(clip, str):
        return
    bound, most, stopped = targets.bound, 0.0, []
    for i, line in targets.lines.items():
        action = targets.actions[:, i]
        reached = (targets.moved(targets.joints[i]) - line.offset) / line.slope
        free = np.abs(reached - action) < SAME_BOUND * np.maximum(np.abs(action), 1.0)
        most = max(most, float(np.abs(action[free]).max(initial=0.0)))
        less = np.abs(reached[~free & (np.abs(reached) < np.abs(action))])
        if len(less) >= MIN_SAMPLES and np.ptp(less) < SAME_BOUND * less.max():
            stopped.append(float(less.mean()))
    kind = "action clip"
    if most > bound * (1.0 + SAME_BOUND):
        edit, there = repair("policy", "action.clip", None), f"not below {most:.4g}"
        yield replay_finding(kind, "", there, bound, kind, 1.0, (edit,), most=most)
    elif (
        stopped and np.ptp(stopped) < EXACT * max(stopped) and min(stopped) < (1.0 - EXACT) * bound
    ):
        value = float(f"{np.mean(stopped):.4g}")
        edit = repair("policy", "action.clip", [-value, value])
        here, form = "none" if not np.isfinite(bound) else bound, "action clip recorded"
        count = len(stopped)
        yield replay_finding(kind, "", value, here, form, 1.0, (edit,), stopped=count)


def lost_setpoints(case: PolicyCase) -> Iterator[Finding]:
    """Ticks whose actions reached no target: all targets stay, although the actions move."""
    targets = case.view(Targets)
    lines = targets.lines
    if targets.wrong or targets.beta < 1.0 or targets.mode != "absolute" or not lines:
        return
    reached = np.stack([targets.moved(targets.joints[i]) for i in lines], axis=1)
    slope, offset = np.array([(line.slope, line.offset) for line in lines.values()]).T
    expected = targets.actions[:, list(lines)] * slope + offset
    stays = np.abs(np.diff(reached, axis=0)).max(axis=1) < 1e-9
    missed = np.abs(reached - expected).max(axis=1)[1:] > MIN_OFFSET
    used = targets.steps[1:] < case.recording.steps  # a tick at the end moves nothing any more
    steps = targets.steps[1:][stays & missed & used]
    if steps.size:
        kind, count = "lost setpoints", len(steps)
        yield replay_finding(
            kind, "", how_many(count, "tick"), "none", kind, 1.0,
            lost=count, ticks=len(reached), steps=steps[:4].tolist(), more=count > 4,
        )  # fmt: skip


def target_clip(case: PolicyCase) -> Iterator[Finding]:
    """Limits of the targets here that recorded ones exceed."""
    targets = case.view(Targets)
    clip: Any = targets.action.get("clip_target")
    if targets.wrong or not targets.lines:
        return
    if clip is None or isinstance(clip, str) or np.size(clip) > 2:
        return
    low, high = (-clip, clip) if np.ndim(clip) == 0 else (clip[0], clip[-1])
    over = {}
    for joint in targets.joints:
        target = targets.moved(joint, "absolute")
        if target.max() > high + MIN_OFFSET or target.min() < low - MIN_OFFSET:
            over[joint] = float(f"{target[np.abs(target).argmax()]:.4g}")
    if over:
        kind, edit = "target clip", repair("policy", "action.clip_target", None)
        yield replay_finding(kind, some(list(over)), over, [low, high], kind, 1.0, (edit,))


def action_offset(case: PolicyCase) -> Iterator[Finding]:
    """Other targets where the action is zero.

    A wrong slope moves the offset too; where the slope is right, the offset can be judged.
    """
    targets = case.view(Targets)
    if targets.mode != "absolute":
        return
    authored = targets.action.get("offset", "default")
    offsets = {
        targets.joints[i]: line.offset
        for i, line in targets.lines.items()
        if i not in targets.wrong
    }
    if authored == "default":
        change = {j: v - targets.pose.get(j, 0.0) for j, v in offsets.items()}
        change = {
            j: c for j, c in change.items() if j not in targets.velocities and abs(c) > MIN_OFFSET
        }
        if change:
            yield case.default_finding(change, "action offset", 1.0)
        return
    values = resolved(authored, joint_slots(case.file_joints), 0.0)
    here = dict(zip(targets.joints, values.tolist(), strict=True))
    new = {j: float(f"{v:.6g}") for j, v in offsets.items() if abs(v - here[j]) > MIN_OFFSET}
    if not new:
        return
    as_pose = all(abs(v - targets.pose.get(j, 0.0)) < MIN_OFFSET for j, v in offsets.items())
    edit = repair("policy", "action.offset", "default")
    if not as_pose:
        edit = case.joint_edit("action.offset", authored, new, {j: here[j] for j in new})
    there, kind = "the default pose" if as_pose else new, "action offset"
    yield replay_finding(kind, some(list(new)), there, authored, kind, 1.0, (edit,))


# The network --------------------------------------------------------------------------------------
# Whether the network here does what was recorded, on the observations that were recorded.


class Outputs:
    """Outputs of the network on recorded observations, in order, and recorded actions.

    `off` is how far each tick's actions are from them, `size` the size of the actions, `reason` why
    they cannot be compared.
    """

    def __init__(self, case: PolicyCase) -> None:
        rows = real_ticks(case.ticks)[:MAX_SAMPLES]
        seen, columns = (
            case.ticks.observation[rows],
            list(map(case.joints.index, case.policy.joints)),
        )
        self.recorded = case.ticks.action[rows][:, columns].astype(np.float64)
        self.size = max(float(np.sqrt(np.mean(self.recorded**2))), ROUNDING)
        self.off, self.reason = np.zeros(len(rows)), ""
        try:
            self.here = case.policy.answers(seen).astype(np.float64)
        except MjrigError as error:
            self.reason = f"the network: {error}"
            return
        # Recorded actions may be clipped already.
        either = (self.here, clipped(self.here, case.action.get("clip")))
        self.off = np.min([np.abs(self.recorded - x) for x in either], axis=0).max(axis=1)
        if self.agree or case.from_the_start:
            return
        without_first = case.policy.answers(seen[1:]).astype(np.float64)
        if not np.array_equal(without_first, self.here[1:]):
            self.reason = "the network's memory at the first recorded tick was not recorded"

    @property
    def agree(self) -> bool:
        """Whether the recorded actions are those of the network."""
        return float(self.off.max()) < EXACT * self.size


def recorded_actions(case: PolicyCase) -> Answers:
    """Actions that were recorded after a filter or a scale."""
    outputs = case.view(Outputs)
    if outputs.reason:
        yield NotJudged(outputs.reason)
    if outputs.reason or outputs.agree:
        return
    beta = recorded_filter(outputs.here, outputs.recorded, np.inf)
    factor, smoothing = _factor(outputs), float(case.action.get("smoothing", 1.0))
    if beta is not None and beta < 1.0 and abs(beta - smoothing) >= ALIKE:
        yield _filter(beta, smoothing, "action filter of the network")
    elif factor is not None and abs(factor - 1.0) >= EXACT:
        kind, there, here = "recorded actions", f"times {factor:.4g}", "as the network gives them"
        yield replay_finding(kind, "", there, here, kind, 1.0, factor=factor)


def network(case: PolicyCase) -> Iterator[Finding]:
    """Another network; a factor of 1 shows a clip, which is judged with the targets."""
    outputs = case.view(Outputs)
    if outputs.reason or outputs.agree or _factor(outputs) is not None:
        return
    error, ticks = float(outputs.off.max()) / outputs.size, len(outputs.off)
    values = {"error": error, "ticks": ticks, "terms_differ": False}
    yield replay_finding("network", "", "another", "this", "network", 1.0, **values)


def _factor(outputs: Outputs) -> float | None:
    """One factor between all recorded actions and those of the network; None: there is none."""
    pairs = zip(outputs.recorded.T, outputs.here.T, strict=True)
    lines = [action_line(here, recorded) for recorded, here in pairs]
    found = [line for line in lines if line is not None]
    if len(found) < max(1, MAJORITY * len(lines)):
        return None
    slopes = np.array([line.slope for line in found])
    middle = float(np.median(slopes))
    alike = np.abs(slopes - middle).max() < EXACT * abs(middle)
    return middle if alike and max(abs(line.offset) for line in found) < MIN_OFFSET else None
