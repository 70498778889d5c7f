"""Mistakes that only some kinds of terms have: clips, commands, positions that are not relative."""

from collections.abc import Iterator

import numpy as np

from mjrig.arrays import FloatArray
from mjrig.names import listed
from mjrig.sim2sim.compare.finding import RepairEdit, ReplayFinding
from mjrig.sim2sim.recorded_policy.policy_case import PolicyCase
from mjrig.sim2sim.recorded_policy.term_fit import EXACT, TermFit, error
from mjrig.sim2sim.recorded_policy.term_layout import LayoutTerm

#: A difference of positions that counts [rad or m].
POSITION = 1e-3
#: A command below this is none.
ZERO = 1e-6


def clip_finding(term: LayoutTerm, recorded: FloatArray) -> ReplayFinding | None:
    """A clip of one term that its recorded values exceed."""
    clip = term.said.get("clip")
    if clip is None or isinstance(clip, str) or np.size(clip) > 2:
        return None
    bound, most = float(np.max(np.abs(clip))), float(np.abs(recorded).max())
    if term.said.get("order") == "clip_then_scale":
        bound *= float(np.max(np.abs(term.said.get("scale", 1.0))))
    if most <= bound * (1.0 + 1e-6):
        return None
    text = f"recorded values reach {most:.4g}, here they end at {bound:.4g}"
    edit = RepairEdit("policy", f"{term.path}.clip", None)
    return ReplayFinding(
        "observation clip", term.name, f"not below {most:.4g}", bound, text, 1.0, (edit,)
    )


def relative_finding(
    case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: str
) -> ReplayFinding | None:
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
    edit = RepairEdit("policy", f"{term.path}.relative", not here)
    words = ("relative to the default pose", "absolute")
    there, now = (words[1], words[0]) if here else words
    return ReplayFinding("observation offset", term.name, there, now, evidence, fit.share, (edit,))


def command_findings(
    term: LayoutTerm,
    names: list[str],
    commands: FloatArray,
    recorded: FloatArray,
    here: FloatArray,
) -> Iterator[ReplayFinding]:
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
        text = "recorded observations are recorded commands times this"
        changed = ", ".join(f"{names[i]} 0 → {new[i]:g}" for i in hidden)
        edit = RepairEdit("policy", f"{term.path}.scale", new.tolist(), changed)
        where = f"{term.name}: {listed(names[i] for i in hidden)}"
        values = {names[i]: float(new[i]) for i in hidden}
        yield ReplayFinding("command scale", where, values, 0.0, text, 1.0, (edit,))
        return
    unseen = [i for i in differ if np.abs(commands[:, i]).max() < ZERO]
    if unseen and unseen == differ:
        text = (
            f"recorded observations show a command of {listed(names[i] for i in unseen)}, the "
            "recorded commands are zero: they are not those the policy was given"
        )
        yield ReplayFinding("recorded commands", term.name, "not zero", "zero", text, 1.0)
