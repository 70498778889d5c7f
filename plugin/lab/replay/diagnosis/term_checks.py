"""Observation terms, recomputed from recorded states and compared with the recorded terms."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, permutations
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding
from mjrig.core.names import how_many, listed
from mjrig.lab.replay.diagnosis.gait_check import gait_findings
from mjrig.lab.replay.diagnosis.joint_order import with_quaternions
from mjrig.lab.replay.diagnosis.policy_case import (
    FRAME,
    NEWEST,
    OLDEST,
    TERM,
    LayoutTerm,
    PolicyCase,
    Recomputed,
    TermLayout,
    real_ticks,
)
from mjrig.lab.replay.diagnosis.term_fit import CHANGED, EXACT, SAME, TermFit, best_fit, error
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.matching import Indices, match
from mjrig.lab.replay.repairs import joint_slots, values_edit

# Term frames --------------------------------------------------------------------------------------
# Present values of every observation term: recorded, and recomputed here.


def term_frames(
    case: PolicyCase, layout: TermLayout, found: Recomputed
) -> list[tuple[FloatArray, FloatArray]]:
    """Per term the present values: recorded, and recomputed here.

    The last action and the current target are the recorded ones: a policy that sees something else
    does something else, and that is not a second cause.
    """
    frames = []
    for term, places in zip(layout.terms, layout.places(), strict=True):
        here = found.here[:, places[0]]
        if term.kind == "LastAction" and set(term.joints) <= set(case.policy.joints):
            here = _last_actions(case, term, found)
            if not case.from_the_start:  # the action before the first tick was not recorded
                here[:1] = found.recorded[:1, places[0]]
        elif term.kind == "JointTargetErrors" and case.match.recorded.commands is not None:
            here = _target_errors(case, term, found)
        frames.append((found.recorded[:, places[0]], here))
    return frames


def _last_actions(case: PolicyCase, term: LayoutTerm, found: Recomputed) -> FloatArray:
    """The actions of the recorded ticks before; zeros before the first."""
    real = real_ticks(case.ticks)
    earlier = {p: q for q, p in pairwise(real)}
    columns = [case.policy.joints.index(j) for j in term.joints]
    rows = [case.ticks.action[earlier[p]] if p in earlier else np.zeros(len(case.policy.joints))
            for p in found.ticks.tolist()]  # fmt: skip
    values = np.array(rows, dtype=np.float64)[:, columns]
    action = case.said.get("action") or {}
    clip = action.get("clip")
    if action.get("last", "raw") == "clipped" and clip is not None and np.ndim(clip) <= 1:
        low, high = (-clip, clip) if np.ndim(clip) == 0 else (clip[0], clip[1])
        values = np.clip(values, low, high)
    found_values: FloatArray = values * spread(term.said.get("scale", 1.0), term.size)
    return found_values


def _target_errors(case: PolicyCase, term: LayoutTerm, found: Recomputed) -> FloatArray:
    """Recorded positions minus the recorded targets that were in force."""
    recorded = case.match.recorded
    at = {here.name: there.qpos.start for there, here in case.match.single}
    steps = case.ticks.step[found.ticks]
    rows = np.searchsorted(recorded.step, steps)
    q = recorded.qpos[rows][:, [at[j] for j in term.joints]]
    difference: FloatArray = q - case.targets_at(term.joints, steps - 1, "position")
    return difference * spread(term.said.get("scale", 1.0), term.size)


def spread(value: object, size: int) -> FloatArray:
    """One number, or a list, as one value each."""
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (size,)).copy()


# Term kinds ---------------------------------------------------------------------------------------
# Mistakes that only some kinds of terms have: clips, commands, positions that are not relative.


#: A difference of positions that counts [rad or m].
POSITION = 1e-3
#: A command below this is none.
ZERO = 1e-6


def clip_finding(term: LayoutTerm, recorded: FloatArray) -> Finding | None:
    """A clip of one term that its recorded values exceed."""
    clip = term.said.get("clip")
    if clip is None or isinstance(clip, str) or np.size(clip) > 2:
        return None
    bound, most = float(np.max(np.abs(clip))), float(np.abs(recorded).max())
    if term.said.get("order") == "clip_then_scale":
        bound *= float(np.max(np.abs(term.said.get("scale", 1.0))))
    if most <= bound * (1.0 + 1e-6):
        return None
    edit = repair("policy", f"{term.path}.clip", None)
    there, form = f"not below {most:.4g}", "observation clip"
    return replay_finding(form, term.name, there, bound, form, 1.0, (edit,), most=most)


def relative_finding(
    case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Mapping[str, Any]
) -> Finding | None:
    """Positions that one side takes relative to the default pose, and the other does not."""
    pose = case.policy.plant().joints.get("default_pose", {})
    names = dict(zip(case.file_joints, case.policy.joints, strict=True))
    mine = np.array([pose.get(names.get(j, j), 0.0) for j in term.joints])
    scale = np.broadcast_to(np.asarray(term.said.get("scale", 1.0), np.float64), mine.shape)
    here = bool(term.said.get("relative", True))
    shift = np.where(scale != 0.0, fit.values / np.where(scale != 0.0, scale, 1.0), 0.0)
    expected = mine if here else -mine
    moved = np.abs(shift) > POSITION
    if not np.abs(mine).max() > POSITION or not moved.any():
        return None
    if np.abs(shift - expected)[moved | (np.abs(mine) > POSITION)].max() > POSITION:
        return None
    edit = repair("policy", f"{term.path}.relative", not here)
    words = ("relative to the default pose", "absolute")
    there, now = (words[1], words[0]) if here else words
    kind = "observation offset"
    return replay_finding(kind, term.name, there, now, "refit", fit.share, (edit,), **evidence)


def command_findings(
    term: LayoutTerm,
    names: list[str],
    commands: FloatArray,
    recorded: FloatArray,
    here: FloatArray,
) -> Iterator[Finding]:
    """A command that is observed and not recorded, or that a scale of zero hides.

    Args:
        term: of the command.
        names: of its values.
        commands: recorded commands, unscaled.
        recorded, here: observed values.
    """
    if commands.shape != recorded.shape:
        return
    scale = np.broadcast_to(np.asarray(term.said.get("scale", 1.0), np.float64), (term.size,))
    differ = [i for i in range(term.size) if error(recorded[:, i], here[:, i]) > EXACT]
    hidden = [i for i in differ if scale[i] == 0.0 and np.abs(commands[:, i]).max() > ZERO]
    if hidden and hidden == differ:
        size = np.sum(commands[:, hidden] ** 2, axis=0)
        factors = np.sum(recorded[:, hidden] * commands[:, hidden], axis=0) / size
        if error(recorded[:, hidden], commands[:, hidden] * factors) > EXACT:
            return
        new = scale.copy()
        new[hidden] = [float(f"{f:.5g}") for f in factors]
        changed = ", ".join(f"{names[i]} 0 → {new[i]:g}" for i in hidden)
        edit = repair("policy", f"{term.path}.scale", new.tolist(), changed)
        where = f"{term.name}: {listed(names[i] for i in hidden)}"
        values = {names[i]: float(new[i]) for i in hidden}
        yield replay_finding("command scale", where, values, 0.0, "command scale", 1.0, (edit,))
        return
    unseen = [i for i in differ if np.abs(commands[:, i]).max() < ZERO]
    if unseen and unseen == differ:
        kind, commanded = "recorded commands", [names[i] for i in unseen]
        yield replay_finding(kind, term.name, "not zero", "zero", kind, 1.0, commands=commanded)


# Term checks --------------------------------------------------------------------------------------
# Observation terms, recomputed from recorded states and compared with the recorded ones.


#: Terms that depend on how the base, or another free body, is turned.
TURNED = ("ProjectedGravity", "BaseLinearVelocity", "BaseAngularVelocity", "RelativeRotation")
#: Orders of the four numbers of a quaternion that was read wrongly: xyzw as wxyz, and back.
QUATERNIONS = {"x, y, z, w": (3, 0, 1, 2), "w, x, y, z": (1, 2, 3, 0)}
#: Terms that can be in another order at most; all orders of these are tried.
MOVED = 6
#: The share of what may be a coincidence.
SUSPECTED = 0.6


class TermChecks:
    """Compares term by term; `run` gives findings, `judged` and `open` say what could be."""

    def __init__(self, case: PolicyCase) -> None:
        self._case = case
        self.judged: list[str] = []
        self.open: list[str] = []

    def run(self) -> list[Finding]:
        """Findings, the best explained first."""
        case, layout, found = self._case, self._case.layout, self._case.recomputed
        if layout is None or found is None or len(found.ticks) < 3:
            self.open.append("observation terms: " + self._why())
            return []
        frames = term_frames(case, layout, found)
        for look in (self._clip, self._term_order, self._history):
            explained = list(look(layout, found, frames))
            if explained:
                return explained
        quaternion = self._quaternion(layout, frames)
        if quaternion is not None:
            return [quaternion]
        findings = []
        for term, (recorded, here) in zip(layout.terms, frames, strict=True):
            rows = found.sharp if term.said.get("sensor") else slice(None)
            fit = best_fit(recorded[rows], here[rows])
            if fit is None:
                self.judged.append(term.name)
                continue
            named = list(self._named(term, fit, found, recorded[rows], here[rows]))
            if not named:
                text = f"differs by {fit.before:.2g} of its size, for no known reason"
                self.open.append(f"{term.name}: {text}")
            findings += named
        return sorted(findings, key=lambda f: -(f.share or 0.0))

    def _named(
        self,
        term: LayoutTerm,
        fit: TermFit,
        found: Recomputed,
        recorded: FloatArray,
        here: FloatArray,
    ) -> Iterator[Finding]:
        """What is wrong with a term; nothing: it is not known."""
        clip = clip_finding(term, recorded)
        if clip is not None:
            yield clip
        elif term.kind == "GaitPhase":
            yield from gait_findings(self._case, term, found)
        elif term.kind == "CommandTerm" and fit.kind != "scale":
            rows = self._case.ticks.command[found.ticks]
            yield from command_findings(term, self._names(term), rows, recorded, here)
        elif fit.kind != "unknown":
            yield from self._explained(term, fit, found)

    def _why(self) -> str:
        if self._case.layout is None:
            return "their sizes are not known"
        if self._case.recomputed is None:
            return "no states at policy ticks, or observations of another size were recorded"
        return "ticks here fall on other steps than in the recording"

    # The whole vector ---------------------------------------------------------------------------

    def _clip(
        self, layout: TermLayout, found: Recomputed, frames: Sequence[tuple[FloatArray, FloatArray]]
    ) -> Iterator[Finding]:
        """A clip here that recorded values exceed."""
        clip = (self._case.said.get("observation") or {}).get("clip")
        if clip is None or np.size(clip) > 2:
            return
        bound, most = float(np.max(np.abs(clip))), float(np.abs(found.recorded).max())
        if most > bound * (1.0 + 1e-6):
            edit, form = repair("policy", "observation.clip", None), "observation clip"
            yield replay_finding(
                form, "", f"not below {most:.4g}", bound, form, 1.0, (edit,), most=most
            )

    def _term_order(
        self, layout: TermLayout, found: Recomputed, frames: Sequence[tuple[FloatArray, FloatArray]]
    ) -> Iterator[Finding]:
        """Terms in another order in which all of them agree."""
        rows = found.sharp
        wrong = [i for i, (a, b) in enumerate(frames) if error(a[rows], b[rows]) > SAME]
        if not 2 <= len(wrong) <= MOVED:
            return
        here = {t.index: values for t, (_, values) in zip(layout.terms, frames, strict=True)}
        for order in permutations(wrong):
            terms = list(layout.terms)
            for place, i in zip(wrong, order, strict=True):
                terms[place] = layout.terms[i]
            moved = replace(layout, terms=tuple(terms))
            pairs = zip(terms, moved.places(), strict=True)
            if all(
                error(found.recorded[rows][:, p[0]], here[t.index][rows]) < SAME for t, p in pairs
            ):
                there, now = ([t.name for t in both] for both in (terms, layout.terms))
                edit = repair("policy", "observation.terms", [dict(t.said) for t in terms])
                kind, ticks = "term order", len(rows)
                yield replay_finding(kind, "", there, now, kind, 1.0, (edit,), ticks=ticks)
                return

    # History ------------------------------------------------------------------------------------

    def _history(
        self, layout: TermLayout, found: Recomputed, frames: Sequence[tuple[FloatArray, FloatArray]]
    ) -> Iterator[Finding]:
        """Another arrangement of earlier values that fits much better."""
        if not layout.has_history:
            return
        here = [x for _, x in frames]
        before = _misfit(layout, found, here, layout.order, layout.by)
        if before < SAME:
            return
        same_length = len({t.history for t in layout.terms}) == 1
        tried = [(o, b) for o in (OLDEST, NEWEST) for b in (TERM, FRAME)]
        tried = [t for t in tried if same_length or t[1] == layout.by]
        errors = {t: _misfit(layout, found, here, *t) for t in tried}
        best = min(errors, key=lambda t: errors[t])
        if best == (layout.order, layout.by) or errors[best] > 0.3 * before:
            return
        old = {"order": layout.order, "by": layout.by}
        new = {"order": best[0], "by": best[1]}
        changed = [n for n in new if new[n] != old[n]]
        yield replay_finding(
            "history order",
            "",
            ", ".join(new[n] for n in changed),
            ", ".join(old[n] for n in changed),
            "history order",
            1.0 - errors[best] / before,
            tuple(repair("policy", f"observation.history.{n}", new[n]) for n in changed),
            before=before,
            after=errors[best],
            ticks=len(found.ticks),
        )

    # Quaternions --------------------------------------------------------------------------------

    def _quaternion(
        self, layout: TermLayout, frames: list[tuple[FloatArray, FloatArray]]
    ) -> Finding | None:
        """A base quaternion whose numbers were read in the wrong order."""
        places = [i for i, t in enumerate(layout.terms) if t.kind in TURNED]
        recomputed = self._case.recomputed
        rows: Any = recomputed.sharp if recomputed is not None else []
        before = max((error(*(x[rows] for x in frames[i])) for i in places), default=0.0)
        free = any(here.kind == "free" for _, here in self._case.match.joints)
        if before < SAME or not free:
            return None
        for name, order in QUATERNIONS.items():
            recording = with_quaternions(self._case.recording, order)
            matches = match(recording, self._case.world, self._case.match.robot.name)
            other = replace(self._case, recording=recording, matches=matches)
            found = other.recomputed
            if found is None or not len(found.ticks):
                continue
            again = term_frames(other, layout, found)
            after = max(error(*(x[found.sharp] for x in again[i])) for i in places)
            if after < min(0.1 * before, EXACT):
                form, share = "quaternion observed", 1.0 - after / before
                return quaternion_finding(name, form, share, before=before, after=after)
        return None

    # One term -----------------------------------------------------------------------------------

    def _explained(self, term: LayoutTerm, fit: TermFit, found: Recomputed) -> list[Finding]:
        evidence = {"before": fit.before, "after": fit.after, "ticks": len(found.ticks)}
        if fit.kind == "scale":
            return [self._scale(term, fit, evidence)]
        if fit.kind == "offset" and term.kind == "JointPositions":
            relative = relative_finding(self._case, term, fit, evidence)
            return [relative if relative is not None else self._default(term, fit, evidence)]
        if fit.kind == "order":
            return [self._order(term, fit, evidence)]
        if fit.kind == "sign":
            flipped = np.flatnonzero(fit.values < 0.0)
            where = listed(self._names(term)[i] for i in flipped)
            scale = spread(term.said.get("scale", 1.0), term.size)
            edit = repair("policy", f"{term.path}.scale", (scale * fit.values).tolist())
            return [replay_finding("sign", f"{term.name}: {where}", "as recorded", "negated",
                               "refit as recorded", fit.share, (edit,), **evidence)]  # fmt: skip
        if fit.kind == "latency":
            return [self._latency(term, fit, evidence)]
        what = {"clip": "observation clip", "offset": "observation offset"}[fit.kind]
        value = _rounded(fit.values)
        clip = (repair("policy", f"{term.path}.clip", value),) if fit.kind == "clip" else ()
        # The mean of anything is an offset: without an exact fit it proves nothing.
        weak = fit.kind == "offset" and fit.after > EXACT
        share = min(fit.share, SUSPECTED) if weak else fit.share
        return [replay_finding(what, term.name, value, "none", "refit", share, clip, **evidence)]

    def _latency(self, term: LayoutTerm, fit: TermFit, evidence: Mapping[str, Any]) -> Finding:
        """Values that are older in the recording than here, or younger."""
        here = int(term.said.get("delay") or 0)
        there = here + round(float(fit.values[0]))
        old, new = ("present" if n == 0 else f"{how_many(n, 'tick')} old" for n in (there, here))
        if there < 0:  # the file does not say it: a sensor or another program holds values back
            old, new = f"{how_many(-there, 'tick')} younger", "as it is"
        fix = (repair("policy", f"{term.path}.delay", there),) if there >= 0 else ()
        what = "observation latency"
        return replay_finding(what, term.name, old, new, "refit", fit.share, fix, **evidence)

    def _scale(self, term: LayoutTerm, fit: TermFit, evidence: Mapping[str, Any]) -> Finding:
        """Other factors, of the values that show them; the others keep theirs."""
        what = "command scale" if term.kind == "CommandTerm" else "observation scale"
        names = self._names(term)
        said = spread(term.said.get("scale", 1.0), term.size)
        hidden = [names[i] for i in np.flatnonzero(np.isnan(fit.values))]
        off = np.flatnonzero(~np.isnan(fit.values) & (np.abs(fit.values - 1.0) > CHANGED))
        new = {int(i): float(f"{said[i] * fit.values[i]:.5g}") for i in off}
        old = {int(i): float(said[i]) for i in off}
        alike = len(set(new.values())) == len(set(old.values())) == 1
        written: Any = term.said.get("scale", 1.0)
        slots = joint_slots(names)
        edit = values_edit("policy", f"{term.path}.scale", written, slots, new, old)
        if isinstance(edit.value, Mapping):  # a term's scale is a number or a list
            whole = [new.get(i, float(said[i])) for i in range(term.size)]
            edit = replace(edit, value=whole)
        where = term.name
        if len(off) < term.size:
            where += f": {listed(names[i] for i in off)}"
        return replay_finding(
            what,
            where,
            next(iter(new.values())) if alike else {names[i]: v for i, v in new.items()},
            next(iter(old.values())) if alike else {names[i]: v for i, v in old.items()},
            "refit",
            fit.share,
            (edit,),
            hidden=hidden,
            **evidence,
        )

    def _names(self, term: LayoutTerm) -> list[str]:
        """Names of the values of a term: joints, components of the command, axes, or numbers."""
        if term.joints:
            return list(term.joints)
        names = (self._case.said.get("command") or {}).get("names") or ()
        if term.kind == "CommandTerm" and len(names) == term.size:
            return [str(n) for n in names]
        return list("xyz") if term.size == 3 else [str(i) for i in range(term.size)]

    def _default(self, term: LayoutTerm, fit: TermFit, evidence: Mapping[str, Any]) -> Finding:
        scale = spread(term.said.get("scale", 1.0), term.size)
        shift = np.where(scale != 0.0, fit.values / np.where(scale != 0.0, scale, 1.0), 0.0)
        return default_finding(
            self._case,
            {j: -float(s) for j, s in zip(term.joints, shift, strict=True) if abs(s) > 1e-3},
            "refit",
            fit.share,
            term=term.name,
            **evidence,
        )

    def _order(self, term: LayoutTerm, fit: TermFit, evidence: Mapping[str, Any]) -> Finding:
        order: Indices = fit.values.astype(np.intp)
        names = list(term.joints) if term.joints else [str(i) for i in range(term.size)]
        new = [names[i] for i in order]
        whole = term.joints == tuple(self._case.policy.joints)
        edit = (repair("policy", "joints", new),) if whole else ()
        what = "joint order" if term.joints else "order of values"
        return replay_finding(what, term.name, new, names, "refit", fit.share, edit, **evidence)


def quaternion_finding(name: str, form: str, share: float, **evidence: Any) -> Finding:
    """The base quaternion of the recording was read in the wrong order."""
    other = next(n for n in QUATERNIONS if n != name)
    return replay_finding("quaternion order", "base", name, other, form, share, **evidence)


def default_finding(
    case: PolicyCase, change: dict[str, float], form: str, share: float, **evidence: Any
) -> Finding:
    """Another default pose: `change` is added to the pose here."""
    pose = dict(case.policy.plant().joints.get("default_pose", {}))
    new = {j: float(f"{pose.get(j, 0.0) + c:.6g}") for j, c in change.items()}
    joints = list(case.policy.joints)
    said = case.said.get("default")
    edit = values_edit(
        "policy",
        "default",
        0.0 if said is None else said,
        joint_slots(case.file_joints),
        {joints.index(j): v for j, v in new.items()},
        {joints.index(j): pose.get(j, 0.0) for j in new},
    )
    return replay_finding(
        "default_pose",
        listed(list(new)) if len(new) <= 4 else f"{len(new)} joints",
        new if len(new) > 1 else next(iter(new.values()), 0.0),
        {j: pose.get(j, 0.0) for j in new} if len(new) > 1 else pose.get(next(iter(new), ""), 0.0),
        form,
        share,
        (edit,),
        **evidence,
    )


def _misfit(
    layout: TermLayout, found: Recomputed, here: list[FloatArray], order: str, by: str
) -> float:
    """Error of the recorded values of age 1, if they were arranged like that."""
    consecutive = np.flatnonzero(np.diff(found.ticks) == 1)
    parts = []
    for term, values, places in zip(layout.terms, here, layout.places(order, by), strict=True):
        parts.append((found.recorded[:, places[0]][consecutive + 1], values[consecutive + 1]))
        if term.history > 1:
            parts.append((found.recorded[:, places[1]][consecutive + 1], values[consecutive]))
    a, b = (np.concatenate([p[i] for p in parts], axis=1) for i in (0, 1))
    return error(a, b)


def _rounded(values: FloatArray) -> object:
    """Numbers as a person would write them; one where all are the same."""
    found = [float(f"{v:.5g}") for v in values]
    return found[0] if len(set(found)) == 1 else found
