"""From recorded actions to recorded targets: scale, offset, sign; and whether the network is it."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import how_many, listed
from mjrig.sim2sim.compare.finding import RepairEdit, ReplayFinding
from mjrig.sim2sim.diagnose.policy_case import PolicyCase
from mjrig.sim2sim.diagnose.recomputed import real_ticks
from mjrig.sim2sim.diagnose.term_checks import default_finding

#: Largest error of a target that a straight line leaves [rad or m].
STRAIGHT = 1e-3
#: Relative difference of scales, and difference of offsets [rad or m], that counts.
SCALE, OFFSET = 5e-3, 1e-3
#: Actions that agree to this are of the same network.
AGREES = 1e-2


class ActionChecks:
    """Regresses targets on actions, joint by joint."""

    def __init__(self, case: PolicyCase) -> None:
        self._case = case
        self.open: list[str] = []
        self.judged: list[str] = []

    def run(self) -> list[ReplayFinding]:
        """Findings."""
        case = self._case
        if case.match.recorded.commands is None or set(case.joints) != set(case.policy.joints):
            self.open.append("action to target: no setpoints of the policy's joints were recorded")
            return []
        return list(self._compared())

    def _compared(self) -> Iterator[ReplayFinding]:
        case, joints = self._case, list(self._case.policy.joints)
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
            self.open.append("action to target: targets do not follow actions on a straight line")
            return
        fitted = {i: line for i, line in enumerate(lines) if line is not None}
        wrong = [i for i in straight if abs(fitted[i][0] - scale[i]) > SCALE * abs(scale[i])]
        signs = [i for i in wrong if abs(fitted[i][0] + scale[i]) < SCALE * abs(scale[i])]
        if wrong and signs == wrong:
            yield self._scales("sign", wrong, fitted, scale, joints)
        elif wrong:
            yield self._scales("action_scale", wrong, fitted, scale, joints)
        # A wrong slope moves the offset too; where the slope is right, the offset can be judged.
        yield from self._offsets({i: f for i, f in fitted.items() if i not in wrong}, joints)
        if not wrong:
            self.judged.append("action to target")

    def _scales(
        self,
        what: str,
        wrong: list[int],
        fitted: dict[int, tuple[float, float, float]],
        scale: FloatArray,
        joints: list[str],
    ) -> ReplayFinding:
        new = {joints[i]: float(f"{fitted[i][0]:.5g}") for i in wrong}
        old = {joints[i]: float(f"{scale[i]:.7g}") for i in wrong}
        whole = [new.get(j, float(f"{s:.7g}")) for j, s in zip(joints, scale, strict=True)]
        rest = max(fitted[i][2] for i in wrong)
        alike = len(set(new.values())) == len(set(old.values())) == 1
        return ReplayFinding(
            what,
            listed(list(new)) if len(new) <= 4 else how_many(len(new), "joint"),
            next(iter(new.values())) if alike else new,
            next(iter(old.values())) if alike else old,
            f"recorded targets are a straight line over recorded actions with these slopes; it "
            f"leaves {rest:.1g} rad",
            1.0,
            (RepairEdit("policy", "action.scale", whole),),
        )

    def _offsets(
        self, fitted: dict[int, tuple[float, float, float]], joints: list[str]
    ) -> Iterator[ReplayFinding]:
        action = self._case.said.get("action") or {}
        absolute = action.get("mode", "absolute") == "absolute"
        if not absolute or action.get("offset", "default") != "default":
            return
        pose = self._case.policy.plant().joints.get("default_pose", {})
        kinds = self._velocities
        change = {
            joints[i]: offset - pose.get(joints[i], 0.0)
            for i, (_, offset, _) in fitted.items()
            if joints[i] not in kinds and abs(offset - pose.get(joints[i], 0.0)) > OFFSET
        }
        if change:
            yield default_finding(
                self._case, change, "recorded targets at an action of zero are there", 1.0
            )

    def _order(self, joints: list[str]) -> ReplayFinding | None:
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
        return ReplayFinding(
            "joint order",
            how_many(len(moved), "joint"),
            joints,
            order,
            f"the setpoints that are recorded as [{', '.join(joints)}] follow the actions of "
            f"[{', '.join(order)}] on straight lines: they are in that order",
            1.0,
        )

    @cached_property
    def _velocities(self) -> set[str]:
        """Joints whose recorded position targets never move while their velocity targets do."""
        case, joints = self._case, list(self._case.policy.joints)
        steps = case.ticks.step[real_ticks(case.ticks)]
        q = case.targets_at(joints, steps, "position")
        v = case.targets_at(joints, steps, "velocity")
        still = (np.ptp(q, axis=0) < 1e-9) & (np.ptp(v, axis=0) > 1e-6)
        return {j for j, s in zip(joints, still, strict=True) if s}

    def _line(self, joint: str, other: str = "") -> tuple[float, float, float] | None:
        """Slope, offset and largest error of a joint's target over its action; None: none fits.

        With `other`, over the action of that joint.
        """
        case = self._case
        rows = np.array(real_ticks(case.ticks))
        steps = case.ticks.step[rows]
        action = case.ticks.action[rows][:, case.joints.index(other or joint)].astype(np.float64)
        row = "velocity" if joint in self._velocities else "position"
        target = case.targets_at([joint], steps, row)[:, 0]
        said = case.said.get("action") or {}
        if said.get("mode") == "delta":
            target = target - case.targets_at([joint], steps - 1, row)[:, 0]
        elif said.get("mode") == "measured":
            return None
        return line(action, target, _bound(said.get("clip")))


def line(action: FloatArray, target: FloatArray, bound: float) -> tuple[float, float, float] | None:
    """A straight line through most points: clipped ones lie off it."""
    keep = np.abs(action) < bound
    for _ in range(4):
        if keep.sum() < 5 or np.ptp(action[keep]) < 1e-4 or np.ptp(target[keep]) < 1e-6:
            return None
        columns = np.stack([action[keep], np.ones(int(keep.sum()))], axis=1)
        (slope, offset), *_ = np.linalg.lstsq(columns, target[keep], rcond=None)
        rest = np.abs(slope * action + offset - target)
        worst = float(rest[keep].max())
        if worst < STRAIGHT:
            return float(slope), float(offset), worst
        keep &= rest < max(np.median(rest[keep]) * 2.0, 1e-9)
    return None


def _bound(clip: object) -> float:
    """Up to which size an action surely passes its clip."""
    if clip is None or isinstance(clip, str):
        return np.inf
    return float(np.min(np.abs(np.asarray(clip, dtype=np.float64))))


def check_network(case: PolicyCase, *, terms_agree: bool) -> tuple[list[ReplayFinding], str]:
    """Whether the network here does what was recorded, where it sees what was recorded.

    Returns findings, and why it cannot be judged.
    """
    found = case.recomputed
    if found is None or not len(found.ticks) or not terms_agree:
        return [], "the network: its observations here are not the recorded ones"
    size = max(float(np.sqrt(np.mean(found.action_recorded**2))), 1e-6)
    rows = found.sharp[:5]
    first = found.action_recorded[rows], found.action_here[rows]
    off = float(np.abs(first[0] - np.clip(first[1], *_range(case))).max()) / size
    if off < AGREES:
        return [], ""
    text = (
        f"on the same observations its actions differ by {off:.2g} of their size in the first "
        f"{len(first[0])} ticks: another network, or another recurrent state"
    )
    return [ReplayFinding("network", "", "another", "this", text, 1.0)], ""


def _range(case: PolicyCase) -> tuple[float, float]:
    """Recorded actions may be clipped already."""
    clip = (case.said.get("action") or {}).get("clip")
    if clip is None or np.ndim(clip) > 1 or isinstance(clip, str):
        return -np.inf, np.inf
    return (-float(clip), float(clip)) if np.ndim(clip) == 0 else (float(clip[0]), float(clip[1]))
