"""From recorded actions to recorded targets: scale, offset, sign, filter, late or lost setpoints.

Policies often smooth their actions: `a ← (1 − β)·a_last + β·net`. A target is then a straight line
over the smoothed action; β = 1 is no filter.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding, RepairEdit
from mjrig.core.names import how_many, listed
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase, real_ticks
from mjrig.lab.replay.diagnosis.term_checks import default_finding
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.repairs import joint_slots, resolved, values_edit

# Action filter ------------------------------------------------------------------------------------
# Lines through targets over actions, straight or through a first-order filter.


#: Largest error of a target that a line leaves [rad or m], and as a share of how far it moves.
STRAIGHT, RELATIVE = 1e-3, 1e-2
#: A line goes through at least this share of the points: clipped ones lie off it.
MOST = 0.3
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
    moving = [i for i in range(actions.shape[1]) if np.ptp(targets[:, i]) > 1e-4]
    for i in moving:
        a, t = actions[1:, i], targets[:, i]
        law = np.stack([a, np.ones(len(a)), t[:-1]], axis=1)
        fit = _through_most(law, t[1:], np.abs(a) < bound)
        if fit is not None and abs(fit[0][0]) > 1e-9:
            found.append(1.0 - float(fit[0][2]))
    if not found or len(found) < 0.5 * len(moving):
        return None
    beta = float(np.median(found))
    agree = np.mean(np.abs(np.array(found) - beta) < 2 * ALIKE) > 0.5
    if not agree or not 0.01 < beta < 1.0 + ALIKE:
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
    least = max(5, MOST * len(wanted))
    for _ in range(4):
        if keep.sum() < least or np.ptp(columns[keep, 0]) < 1e-4:
            return None
        moved = float(np.ptp(wanted[keep]))
        if moved < 1e-6:
            return None
        found, *_ = np.linalg.lstsq(columns[keep], wanted[keep], rcond=None)
        rest = np.abs(columns @ found - wanted)
        worst = float(rest[keep].max())
        if worst < min(STRAIGHT, RELATIVE * moved):
            return found.astype(np.float64), worst
        keep &= rest < max(np.median(rest[keep]) * 2.0, 1e-9)
    return None


# Late setpoints -----------------------------------------------------------------------------------
# Setpoints that come some physics steps after the tick whose actions they follow.


#: Ticks by which setpoints may be late.
TICKS = 5


def late_setpoints(tick_steps: int, joints: int, lines: Callable[[int], int]) -> Finding | None:
    """The finding; None: targets follow actions at no such time.

    Setpoints before their actions are not sought: then it is as likely that actions are late.

    Args:
        tick_steps: physics steps from tick to tick.
        joints: that the policy moves.
        lines: how many joints' targets are straight lines over the actions, so many physics steps
            after each tick.
    """
    steps = next((n for n in range(1, TICKS * tick_steps + 1) if lines(n) > 0.5 * joints), None)
    if steps is None:
        return None
    there = f"{how_many(steps, 'physics step')} later"
    return replay_finding(
        "tick phase", "", there, "at the tick", "tick phase late", 1.0, steps=steps
    )


# Action checks ------------------------------------------------------------------------------------
# From recorded actions to recorded targets: scale, offset, sign, filter, lost setpoints.


#: Relative difference of scales, and difference of offsets [rad or m], that counts.
SCALE, OFFSET = 5e-3, 1e-3
#: Actions that move less say nothing about their scale; a target this far off was not set [rad].
STILL, LOST = 1e-4, 2e-3


class ActionChecks:
    """Regresses targets on actions, joint by joint."""

    def __init__(self, case: PolicyCase) -> None:
        self._case = case
        self.open: list[str] = []
        self.judged: list[str] = []

    def run(self) -> list[Finding]:
        """Findings."""
        case = self._case
        if case.match.recorded.commands is None or set(case.joints) != set(case.policy.joints):
            self.open.append("action to target: no setpoints of the policy's joints were recorded")
            return []
        return list(self._compared())

    def _compared(self) -> Iterator[Finding]:
        case, joints = self._case, list(self._case.policy.joints)
        if self._targets_between_ticks():
            self.open.append(
                "action to target: targets change between ticks too, as filtered or interpolated "
                "at the physics rate"
            )
            return
        yield from self._filter()
        plant = case.policy.plant().joints
        scale = np.array([plant["action_scale"][j] for j in joints])
        lines = [self._line(j) for j in joints]
        straight = [i for i, line in enumerate(lines) if line is not None]
        if len(straight) < len(joints):
            order = self._order(joints)
            if order is not None:
                yield order
                return
        if not straight:
            late = late_setpoints(case.policy.tick_steps, len(joints), self._lines)
            if late is not None:
                yield late
                return
            mode = list(self._other_mode(joints))
            if mode:
                yield from mode
                return
            self.open.append("action to target: targets do not follow actions on a straight line")
            return
        fitted = {i: line for i, line in enumerate(lines) if line is not None}
        wrong = [i for i in straight if abs(fitted[i].slope - scale[i]) > SCALE * abs(scale[i])]
        signs = [i for i in wrong if abs(fitted[i].slope + scale[i]) < SCALE * abs(scale[i])]
        if wrong and signs == wrong:
            yield self._scales("sign", wrong, fitted, scale, joints)
        elif wrong and all(_is_degrees(fitted[i].slope / scale[i]) for i in wrong):
            yield self._scales("units", wrong, fitted, scale, joints)
        elif wrong:
            yield self._scales("action_scale", wrong, fitted, scale, joints)
        if not wrong:
            yield from self._clips(fitted, joints)
            yield from self._lost(fitted, joints)
            yield from self._target_clip(joints)
        still = [j for i, j in enumerate(joints) if i not in fitted and self._is_still(j)]
        if still:
            self.open.append(f"action scale of {listed(still)}: their actions do not move")
        # A wrong slope moves the offset too; where the slope is right, the offset can be judged.
        yield from self._offsets({i: f for i, f in fitted.items() if i not in wrong}, joints)
        if not wrong:
            self.judged.append("action to target")

    def _scales(
        self,
        what: str,
        wrong: list[int],
        fitted: dict[int, ActionLine],
        scale: FloatArray,
        joints: list[str],
    ) -> Finding:
        new = {joints[i]: float(f"{fitted[i].slope:.5g}") for i in wrong}
        old = {joints[i]: float(f"{scale[i]:.7g}") for i in wrong}
        worst = max(wrong, key=lambda i: fitted[i].rest)
        turning = "rad/s" if joints[worst] in self._velocities else "rad"
        unit = self._case.unit_of([joints[worst]], turning)
        alike = len(set(new.values())) == len(set(old.values())) == 1
        return replay_finding(
            what,
            listed(list(new)) if len(new) <= 4 else how_many(len(new), "joint"),
            next(iter(new.values())) if alike else new,
            next(iter(old.values())) if alike else old,
            "action scale",
            1.0,
            (self._edit("action.scale", self._said.get("scale"), new, old, 1.0),),
            residual=fitted[worst].rest,
            residual_unit=unit,
        )

    def _edit(
        self, path: str, said: Any, new: Mapping[str, float], old: Mapping[str, float], rest: float
    ) -> RepairEdit:
        """Other values of some joints; `rest` is what a file that says nothing means."""
        joints = list(self._case.policy.joints)
        slots = joint_slots(self._case.file_joints)
        return values_edit(
            "policy",
            path,
            rest if said is None else said,
            slots,
            {joints.index(j): v for j, v in new.items()},
            {joints.index(j): v for j, v in old.items()},
        )

    def _offsets(self, fitted: dict[int, ActionLine], joints: list[str]) -> Iterator[Finding]:
        action = self._case.said.get("action") or {}
        absolute = action.get("mode", "absolute") == "absolute"
        pose = self._case.policy.plant().joints.get("default_pose", {})
        kinds = self._velocities
        if not absolute:
            return
        if action.get("offset", "default") != "default":
            yield from self._own_offsets(fitted, joints, pose)
            return
        change = {
            joints[i]: line.offset - pose.get(joints[i], 0.0)
            for i, line in fitted.items()
            if joints[i] not in kinds and abs(line.offset - pose.get(joints[i], 0.0)) > OFFSET
        }
        if change:
            yield default_finding(self._case, change, "action offset", 1.0)

    def _own_offsets(
        self, fitted: dict[int, ActionLine], joints: list[str], pose: Mapping[str, float]
    ) -> Iterator[Finding]:
        """Offsets that the file states, where they are numbers."""
        said = self._said["offset"]
        here = resolved(said, joint_slots(self._case.file_joints), 0.0)
        off = {i: f.offset for i, f in fitted.items() if abs(f.offset - here[i]) > OFFSET}
        if not off:
            return
        as_pose = all(abs(f.offset - pose.get(joints[i], 0.0)) < OFFSET for i, f in fitted.items())
        new = {joints[i]: float(f"{v:.6g}") for i, v in off.items()}
        old = {joints[i]: float(here[i]) for i in off}
        yield replay_finding(
            "action offset",
            listed([joints[i] for i in off]) if len(off) <= 4 else how_many(len(off), "joint"),
            "the default pose" if as_pose else new,
            said,
            "action offset",
            1.0,
            (
                repair("policy", "action.offset", "default")
                if as_pose
                else self._edit("action.offset", said, new, old, 0.0),
            ),
        )

    def _clips(self, fitted: dict[int, ActionLine], joints: list[str]) -> Iterator[Finding]:
        """A clip of the actions here that recorded targets do not show, or the other way round."""
        clip: Any = self._said.get("clip")
        if self._beta < 1.0 or np.size(clip) > 2 or isinstance(clip, str):
            return
        bound, most, stopped = _bound(clip), 0.0, []
        for i, line in fitted.items():
            action = self._actions[:, self._case.joints.index(joints[i])]
            reached = (self._moved(joints[i]) - line.offset) / line.slope
            free = np.abs(reached - action) < 1e-3 * np.maximum(np.abs(action), 1.0)
            most = max(most, float(np.abs(action[free]).max(initial=0.0)))
            less = np.abs(reached[~free & (np.abs(reached) < np.abs(action))])
            if len(less) > 2 and np.ptp(less) < 1e-3 * less.max():
                stopped.append(float(less.mean()))
        if most > bound * (1.0 + 1e-3):
            edit, there = repair("policy", "action.clip", None), f"not below {most:.4g}"
            kind = "action clip"
            yield replay_finding(kind, "", there, bound, kind, 1.0, (edit,), most=most)
        elif stopped and np.ptp(stopped) < 1e-2 * max(stopped) and min(stopped) < 0.99 * bound:
            value = float(f"{np.mean(stopped):.4g}")
            edit = repair("policy", "action.clip", [-value, value])
            here = "none" if not np.isfinite(bound) else bound
            form, joints_stopped = "action clip recorded", len(stopped)
            yield replay_finding(
                "action clip", "", value, here, form, 1.0, (edit,), stopped=joints_stopped
            )

    def _target_clip(self, joints: list[str]) -> Iterator[Finding]:
        """Limits of the targets here that recorded ones exceed."""
        clip: Any = self._said.get("clip_target")
        if clip is None or isinstance(clip, str) or np.size(clip) > 2:
            return
        low, high = (-clip, clip) if np.ndim(clip) == 0 else (clip[0], clip[-1])
        over = {
            j: float(f"{t[np.abs(t).argmax()]:.4g}")
            for j in joints
            if ((t := self._moved(j, "absolute")) > high + OFFSET).any() or (t < low - OFFSET).any()
        }
        if over:
            where = listed(list(over)) if len(over) <= 4 else how_many(len(over), "joint")
            edit = repair("policy", "action.clip_target", None)
            yield replay_finding(
                "target clip", where, over, [low, high], "target clip", 1.0, (edit,)
            )

    def _is_still(self, joint: str) -> bool:
        return bool(np.ptp(self._actions[:, self._case.joints.index(joint)]) < STILL)

    def _lost(self, fitted: dict[int, ActionLine], joints: list[str]) -> Iterator[Finding]:
        """Ticks whose actions reached no target: all targets stay, although the actions move."""
        if self._beta < 1.0 or self._said.get("mode", "absolute") != "absolute" or not fitted:
            return
        targets = np.stack([self._moved(joints[i]) for i in fitted], axis=1)
        actions = self._actions[:, [self._case.joints.index(joints[i]) for i in fitted]]
        slope = np.array([f.slope for f in fitted.values()])
        wanted = actions * slope + np.array([f.offset for f in fitted.values()])
        stays = np.abs(np.diff(targets, axis=0)).max(axis=1) < 1e-9
        missed = np.abs(targets - wanted).max(axis=1)[1:] > LOST
        steps = self._case.ticks.step[real_ticks(self._case.ticks)]
        used = steps[1:] < self._case.recording.steps  # a tick at the end moves nothing any more
        rows = np.flatnonzero(stays & missed & used) + 1
        if not rows.size:
            return
        steps = steps[rows]
        yield replay_finding(
            "lost setpoints",
            "",
            how_many(len(rows), "tick"),
            "none",
            "lost setpoints",
            1.0,
            lost=len(rows),
            ticks=len(targets),
            steps=steps[:4].tolist(),
            more=len(steps) > 4,
        )

    def _other_mode(self, joints: list[str]) -> Iterator[Finding]:
        """Targets that follow actions as another mode has it."""
        here = str(self._said.get("mode", "absolute"))
        other = {"absolute": "delta", "delta": "absolute"}.get(here)
        if other is None:
            return
        lines = [
            action_line(self._actions[:, self._case.joints.index(j)], self._moved(j, other))
            for j in joints
        ]
        found = [line for line in lines if line is not None]
        if len(found) > 0.5 * len(joints):
            edit = repair("policy", "action.mode", other)
            kind, lines_found = "action mode", len(found)
            yield replay_finding(kind, "", other, here, kind, 1.0, (edit,), joints=lines_found)

    def _order(self, joints: list[str]) -> Finding | None:
        """Targets that follow the actions of other joints: the setpoints are in another order."""
        if (self._case.said.get("action") or {}).get("mode", "absolute") == "measured":
            return None
        fits = {
            (a, b): rest for a in joints for b in joints if (rest := self._line(a, b)) is not None
        }
        found = {a: [b for b in joints if (a, b) in fits] for a in joints}
        sure = {a: bs[0] for a, bs in found.items() if len(bs) == 1}
        moved = {a: b for a, b in sure.items() if a != b}
        if len(moved) < 2 or len(set(sure.values())) < len(sure):
            return None
        order = [sure.get(j, j) for j in joints]
        many = how_many(len(moved), "joint")
        return replay_finding("joint order", many, joints, order, "joint order of setpoints", 1.0)

    @cached_property
    def _velocities(self) -> set[str]:
        """Joints whose recorded position targets never move while their velocity targets do."""
        case, joints = self._case, list(self._case.policy.joints)
        steps = case.ticks.step[real_ticks(case.ticks)]
        q = case.targets_at(joints, steps, "position")
        v = case.targets_at(joints, steps, "velocity")
        still = (np.ptp(q, axis=0) < 1e-9) & (np.ptp(v, axis=0) > 1e-6)
        return {j for j, s in zip(joints, still, strict=True) if s}

    def _line(self, joint: str, other: str = "") -> ActionLine | None:
        """The line of a joint's targets over its actions, or those of an`other`; None: none."""
        if self._said.get("mode") == "measured":
            return None
        action = self._actions[:, self._case.joints.index(other or joint)]
        return action_line(action, self._moved(joint), _bound(self._said.get("clip")), self._beta)

    @cached_property
    def _said(self) -> Mapping[str, Any]:
        return self._case.said.get("action") or {}

    @cached_property
    def _actions(self) -> FloatArray:
        """Recorded actions, (ticks, recorded columns)."""
        ticks = self._case.ticks
        return ticks.action[real_ticks(ticks)].astype(np.float64)

    def _lines(self, steps: int) -> int:
        """How many joints' targets follow their actions, so many steps after each tick."""
        rows = [(j, self._actions[:, self._case.joints.index(j)]) for j in self._case.policy.joints]
        bound = _bound(self._said.get("clip"))
        return sum(action_line(a, self._moved(j, steps=steps), bound) is not None for j, a in rows)

    def _moved(self, joint: str, mode: str = "", steps: int = 0) -> FloatArray:
        """What an action of a joint turned into at each tick: its target, or the change of it."""
        case = self._case
        at = case.ticks.step[real_ticks(case.ticks)] + steps
        row = "velocity" if joint in self._velocities else "position"
        target = case.targets_at([joint], at, row)[:, 0]
        if (mode or self._said.get("mode")) == "delta":
            target = target - case.targets_at([joint], at - 1, row)[:, 0]
        return target

    # Filters ------------------------------------------------------------------------------------

    @cached_property
    def _recorded_beta(self) -> float | None:
        """The filter between recorded actions and targets; None: it is not known."""
        if self._said.get("mode") == "measured":
            return None
        joints = list(self._case.policy.joints)
        actions = self._actions[:, [self._case.joints.index(j) for j in joints]]
        targets = np.stack([self._moved(j) for j in joints], axis=1)
        return recorded_filter(actions, targets, _bound(self._said.get("clip")))

    @property
    def _beta(self) -> float:
        return 1.0 if self._recorded_beta is None else self._recorded_beta

    def _filter(self) -> Iterator[Finding]:
        here, recorded = float(self._said.get("smoothing", 1.0)), self._recorded_beta
        if recorded is None or abs(recorded - here) < ALIKE:
            return
        yield filter_finding(recorded, here, "action filter")

    def _targets_between_ticks(self) -> bool:
        """Whether setpoints move at most steps, not only at ticks."""
        case, commands = self._case, self._case.match.recorded.commands
        assert commands is not None
        if case.policy.tick_steps < 3:
            return False
        moved = np.abs(np.diff(commands.position, axis=0)).max(axis=1) > 1e-9
        changes = commands.step[1:][moved]
        steps = case.ticks.step[real_ticks(case.ticks)]
        inside = changes[(changes > steps[0]) & (changes <= steps[-1])]
        return len(inside) > 2 * len(steps)


def filter_finding(recorded: float, here: float, form: str) -> Finding:
    """Another filter of the actions; 1: none."""
    there, now = (f"β {b:g}" if b < 1.0 else "none" for b in (recorded, here))
    edit = repair("policy", "action.smoothing", recorded)
    beta = recorded if recorded < 1.0 else 0.0
    return replay_finding("action filter", "", there, now, form, 1.0, (edit,), beta=beta)


def _is_degrees(ratio: float) -> bool:
    return abs(math.radians(ratio) - 1.0) < SCALE


def _bound(clip: object) -> float:
    """Up to which size an action surely passes its clip."""
    if clip is None or isinstance(clip, str):
        return np.inf
    return float(np.min(np.abs(np.asarray(clip, dtype=np.float64))))
