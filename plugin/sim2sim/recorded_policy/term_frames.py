"""Present values of every observation term: recorded, and recomputed here."""

from itertools import pairwise

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.sim2sim.recorded_policy.policy_case import PolicyCase
from mjrig.sim2sim.recorded_policy.recomputed import Recomputed, real_ticks
from mjrig.sim2sim.recorded_policy.term_layout import LayoutTerm, TermLayout


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
