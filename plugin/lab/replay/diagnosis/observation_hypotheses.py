"""Hypotheses about observations: recorded terms against terms recomputed from recorded states."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding
from mjrig.core.names import how_many, listed
from mjrig.lab.replay.diagnosis.hypothesis import (
    EXACT,
    MIN_OFFSET,
    ROUNDING,
    SUSPECTED,
    Answers,
    NotJudged,
)
from mjrig.lab.replay.diagnosis.order_hypotheses import (
    QUATERNIONS,
    quaternion_finding,
    with_quaternions,
)
from mjrig.lab.replay.diagnosis.policy_case import (
    FRAME,
    NEWEST,
    OLDEST,
    TERM,
    LayoutTerm,
    PolicyCase,
    Recomputed,
    TermLayout,
    term_frames,
)
from mjrig.lab.replay.diagnosis.term_fits import BETTER, SAME, TermFit, best_fit, error
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.matching import Indices, match
from mjrig.lab.replay.repairs import joint_slots, one_or_each, values_edit

#: Terms that depend on how the base, or another free body, is turned.
TURNED = ("ProjectedGravity", "BaseLinearVelocity", "BaseAngularVelocity", "RelativeRotation")
#: Terms whose order is sought: all permutations are tried, 720 with six.
MAX_MOVED = 6


# The observation as a whole -----------------------------------------------------------------------


def observation_clip(case: PolicyCase) -> Iterator[Finding]:
    """A clip of all values here that recorded ones exceed."""
    clip = (case.said.get("observation") or {}).get("clip")
    if clip is not None and np.size(clip) <= 2:
        bound = float(np.max(np.abs(clip)))
        yield from _clip("", "observation.clip", bound, case.observed[1].recorded)


def _clip(where: str, path: str, bound: float, recorded: FloatArray) -> Iterator[Finding]:
    kind, most = "observation clip", float(np.abs(recorded).max())
    if most > bound * (1.0 + ROUNDING):
        edit, there = repair("policy", path, None), f"not below {most:.4g}"
        yield replay_finding(kind, where, there, bound, kind, 1.0, (edit,), most=most)


def term_order(case: PolicyCase) -> Iterator[Finding]:
    """Terms in another order in which all of them agree."""
    (layout, found), frames = case.observed, case.view(term_frames)
    rows = found.sharp
    wrong = [i for i, (a, b) in enumerate(frames) if error(a[rows], b[rows]) > SAME]
    if not 2 <= len(wrong) <= MAX_MOVED:
        return
    here = {t.index: values for t, (_, values) in zip(layout.terms, frames, strict=True)}
    for order in permutations(wrong):
        terms = list(layout.terms)
        for place, i in zip(wrong, order, strict=True):
            terms[place] = layout.terms[i]
        moved = replace(layout, terms=tuple(terms))
        pairs = zip(terms, moved.places(), strict=True)
        if all(error(found.recorded[rows][:, p[0]], here[t.index][rows]) < SAME for t, p in pairs):
            there, now = ([t.name for t in both] for both in (terms, layout.terms))
            edit = repair("policy", "observation.terms", [dict(t.said) for t in terms])
            kind, ticks = "term order", len(rows)
            yield replay_finding(kind, "", there, now, kind, 1.0, (edit,), ticks=ticks)
            return


def history_order(case: PolicyCase) -> Iterator[Finding]:
    """Another arrangement of earlier values that fits much better."""
    layout, found = case.observed
    if not layout.has_history:
        return
    here = [x for _, x in case.view(term_frames)]
    declared = layout.order, layout.by
    before = _misfit(layout, found, here, *declared)
    if before < SAME:
        return
    same_length = len({t.history for t in layout.terms}) == 1
    tried = [(o, b) for o in (OLDEST, NEWEST) for b in (TERM, FRAME)]
    errors = {
        t: _misfit(layout, found, here, *t) for t in tried if same_length or t[1] == layout.by
    }
    best = min(errors, key=lambda t: errors[t])
    if best == declared or errors[best] > BETTER * before:
        return
    names = ("order", "by")
    changed = [i for i in range(2) if best[i] != declared[i]]
    yield replay_finding(
        "history order",
        "",
        ", ".join(best[i] for i in changed),
        ", ".join(declared[i] for i in changed),
        "history order",
        1.0 - errors[best] / before,
        [repair("policy", f"observation.history.{names[i]}", best[i]) for i in changed],
        before=before,
        after=errors[best],
        ticks=len(found.ticks),
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


def observed_quaternion(case: PolicyCase) -> Iterator[Finding]:
    """A base quaternion whose numbers were read in the wrong order."""
    places = [i for i, t in enumerate(case.observed[0].terms) if t.kind in TURNED]
    before = _sharp_error(case, places)
    if before < SAME or not any(here.kind == "free" for _, here in case.match.joints):
        return
    for name, order in QUATERNIONS.items():
        recording = with_quaternions(case.recording, order)
        matches = match(recording, case.world, case.match.robot.name)
        other = replace(case, recording=recording, matches=matches)
        if other.recomputed is None or not len(other.recomputed.ticks):
            continue
        after = _sharp_error(other, places)
        if after < min(BETTER * before, EXACT):
            form, share = "quaternion observed", 1.0 - after / before
            yield quaternion_finding(name, form, share, before=before, after=after)
            return


def _sharp_error(case: PolicyCase, places: list[int]) -> float:
    """The largest error of some terms."""
    frames, rows = case.view(term_frames), case.observed[1].sharp
    return max((error(*(x[rows] for x in frames[i])) for i in places), default=0.0)


# Term by term -------------------------------------------------------------------------------------


def terms(case: PolicyCase) -> Answers:
    """What is wrong with each term but the last action."""
    return _judged(case, last_action=False)


def last_action(case: PolicyCase) -> Answers:
    """What is wrong with the observed last action."""
    return _judged(case, last_action=True)


def _judged(case: PolicyCase, *, last_action: bool) -> Answers:
    layout, found = case.observed
    for term, (recorded, here) in zip(layout.terms, case.view(term_frames), strict=True):
        if (term.kind == "LastAction") is not last_action:
            continue
        rows = found.sharp if term.said.get("sensor") else slice(None)
        fit = best_fit(recorded[rows], here[rows])
        if fit is None:
            continue
        named = list(_named(case, term, fit, recorded[rows], here[rows]))
        if not named:
            text = f"differs by {fit.before:.2g} of its size, for no known reason"
            yield NotJudged(f"{term.name}: {text}")
        yield from named


def _named(
    case: PolicyCase, term: LayoutTerm, fit: TermFit, recorded: FloatArray, here: FloatArray
) -> Iterator[Finding]:
    """What is wrong with a term; nothing: it is not known."""
    clip = list(_term_clip(term, recorded))
    if clip:
        yield from clip
    elif term.kind == "GaitPhase":
        yield from gait_phase(case, term)
    elif term.kind == "CommandTerm" and fit.kind != "scale":
        yield from _command(case, term, recorded, here)
    elif fit.kind != "unknown":
        evidence = {"before": fit.before, "after": fit.after, "ticks": len(case.observed[1].ticks)}
        finding = _FITTED[fit.kind](case, term, fit, evidence)
        if finding is not None:
            yield finding


def _term_clip(term: LayoutTerm, recorded: FloatArray) -> Iterator[Finding]:
    """A clip of one term that its recorded values exceed."""
    clip = term.said.get("clip")
    if clip is None or isinstance(clip, str) or np.size(clip) > 2:
        return
    bound = float(np.max(np.abs(clip)))
    if term.said.get("order") == "clip_then_scale":
        bound *= float(np.abs(term.scale).max())
    yield from _clip(term.name, f"{term.path}.clip", bound, recorded)


def _command(
    case: PolicyCase, term: LayoutTerm, recorded: FloatArray, here: FloatArray
) -> Iterator[Finding]:
    """A command that is observed and not recorded, or that a scale of zero hides."""
    commands, names = case.ticks.command[case.observed[1].ticks], _names(case, term)
    if commands.shape != recorded.shape:
        return
    differ = [i for i in range(term.size) if error(recorded[:, i], here[:, i]) > EXACT]
    moved = [i for i in differ if np.abs(commands[:, i]).max() > ROUNDING]
    if differ and not moved:
        kind, commanded = "recorded commands", [names[i] for i in differ]
        yield replay_finding(kind, term.name, "not zero", "zero", kind, 1.0, commands=commanded)
    if not differ or moved != differ or any(term.scale[i] != 0.0 for i in moved):
        return
    factors = np.sum(recorded * commands, axis=0)[moved] / np.sum(commands**2, axis=0)[moved]
    if error(recorded[:, moved], commands[:, moved] * factors) > EXACT:
        return
    new = term.scale
    new[moved] = [float(f"{f:.5g}") for f in factors]
    changed = ", ".join(f"{names[i]} 0 → {new[i]:g}" for i in moved)
    edit = repair("policy", f"{term.path}.scale", new.tolist(), changed)
    where = f"{term.name}: {listed(names[i] for i in moved)}"
    values = {names[i]: float(new[i]) for i in moved}
    yield replay_finding("command scale", where, values, 0.0, "command scale", 1.0, (edit,))


def _names(case: PolicyCase, term: LayoutTerm) -> list[str]:
    """Names of the values of a term: joints, components of the command, axes, or numbers."""
    if term.joints:
        return list(term.joints)
    names = (case.said.get("command") or {}).get("names") or ()
    if term.kind == "CommandTerm" and len(names) == term.size:
        return [str(n) for n in names]
    return list("xyz") if term.size == 3 else [str(i) for i in range(term.size)]


#: The numbers of a fit's sentence.
Evidence = Mapping[str, Any]

# One term, fitted ---------------------------------------------------------------------------------


def _scale(case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Evidence) -> Finding:
    """Other factors, of the values that show them; the others keep theirs."""
    kind = "command scale" if term.kind == "CommandTerm" else "observation scale"
    names, scale = _names(case, term), term.scale
    hidden = [names[i] for i in np.flatnonzero(np.isnan(fit.values))]
    off = np.flatnonzero(~np.isnan(fit.values) & (np.abs(fit.values - 1.0) > SAME))
    new = {int(i): float(f"{scale[i] * fit.values[i]:.5g}") for i in off}
    old = {int(i): float(scale[i]) for i in off}
    written: Any = term.said.get("scale", 1.0)
    edit = values_edit("policy", f"{term.path}.scale", written, joint_slots(names), new, old)
    if isinstance(edit.value, Mapping):  # a term's scale is a number or a list
        edit = replace(edit, value=[new.get(i, float(scale[i])) for i in range(term.size)])
    some = len(off) < term.size
    where = f"{term.name}: {listed(names[i] for i in off)}" if some else term.name
    there, now = one_or_each(*({names[i]: v for i, v in each.items()} for each in (new, old)))
    return replay_finding(
        kind, where, there, now, "refit", fit.share, (edit,), hidden=hidden, **evidence
    )


def _sign(case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Mapping[str, Any]) -> Finding:
    flipped = listed(_names(case, term)[i] for i in np.flatnonzero(fit.values < 0.0))
    edit = repair("policy", f"{term.path}.scale", (term.scale * fit.values).tolist())
    where, form = f"{term.name}: {flipped}", "refit as recorded"
    return replay_finding(
        "sign", where, "as recorded", "negated", form, fit.share, (edit,), **evidence
    )


def _offset(case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Evidence) -> Finding | None:
    """Another zero; None: of positions it is too small to count."""
    if term.kind != "JointPositions":
        # The mean of anything is an offset: without an exact fit it proves nothing.
        share = fit.share if fit.after <= EXACT else min(fit.share, SUSPECTED)
        kind, value = "observation offset", _rounded(fit.values)
        return replay_finding(kind, term.name, value, "none", "refit", share, **evidence)
    shift = np.divide(fit.values, term.scale, out=np.zeros(term.size), where=term.scale != 0.0)
    relative = _relative(case, term, shift)
    if relative is None:
        change = {
            j: -float(s) for j, s in zip(term.joints, shift, strict=True) if abs(s) > MIN_OFFSET
        }
        if not change:
            return None
        return case.default_finding(change, "refit", fit.share, term=term.name, **evidence)
    words = ("relative to the default pose", "absolute")
    there, now = words if relative else words[::-1]
    edit, kind = repair("policy", f"{term.path}.relative", relative), "observation offset"
    return replay_finding(kind, term.name, there, now, "refit", fit.share, (edit,), **evidence)


def _relative(case: PolicyCase, term: LayoutTerm, shift: FloatArray) -> bool | None:
    """What `relative` must be if only one side subtracts the default pose; None: another offset."""
    pose = case.policy.plant().joints.get("default_pose", {})
    names = dict(zip(case.file_joints, case.policy.joints, strict=True))
    mine = np.array([pose.get(names.get(j, j), 0.0) for j in term.joints])
    here = bool(term.said.get("relative", True))
    moved = np.abs(shift) > MIN_OFFSET
    if not np.abs(mine).max() > MIN_OFFSET or not moved.any():
        return None
    off = np.abs(shift - (mine if here else -mine))
    return None if off[moved | (np.abs(mine) > MIN_OFFSET)].max() > MIN_OFFSET else not here


def _order(case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Evidence) -> Finding:
    order: Indices = fit.values.astype(np.intp)
    names = list(term.joints) if term.joints else [str(i) for i in range(term.size)]
    new = [names[i] for i in order]
    whole = term.joints == tuple(case.policy.joints)
    edit = (repair("policy", "joints", new),) if whole else ()
    kind = "joint order" if term.joints else "order of values"
    return replay_finding(kind, term.name, new, names, "refit", fit.share, edit, **evidence)


def _latency(case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Evidence) -> Finding:
    """Values that are older in the recording than here, or younger."""
    here = int(term.said.get("delay") or 0)
    there = here + round(float(fit.values[0]))
    old, new = ("present" if n == 0 else f"{how_many(n, 'tick')} old" for n in (there, here))
    if there < 0:  # the file does not say it: a sensor or another program holds values back
        old, new = f"{how_many(-there, 'tick')} younger", "as it is"
    fix = (repair("policy", f"{term.path}.delay", there),) if there >= 0 else ()
    kind = "observation latency"
    return replay_finding(kind, term.name, old, new, "refit", fit.share, fix, **evidence)


def _fitted_clip(case: PolicyCase, term: LayoutTerm, fit: TermFit, evidence: Evidence) -> Finding:
    kind, value = "observation clip", _rounded(fit.values)
    edit = repair("policy", f"{term.path}.clip", value)
    return replay_finding(kind, term.name, value, "none", "refit", fit.share, (edit,), **evidence)


#: The finding of each kind of fit.
_FITTED: Mapping[str, Callable[..., Finding | None]] = {
    "scale": _scale,
    "sign": _sign,
    "offset": _offset,
    "order": _order,
    "latency": _latency,
    "clip": _fitted_clip,
}


def _rounded(values: FloatArray) -> object:
    """Numbers as a person would write them; one where all are the same."""
    found = [float(f"{v:.5g}") for v in values]
    return found[0] if len(set(found)) == 1 else found


# The phase of a gait ------------------------------------------------------------------------------


#: Phases that differ by less are the same, and so are periods, by a share: a slope over some turns
#: is as exact [turns].
SAME_PHASE = 5e-3
#: Squares of a sine and its cosine add up to 1 within this; other values do not.
UNIT = 0.05
#: A phase turns where its sine or cosine is larger than this; it is zero while a robot stands.
TURNING = 0.1
FORMS = ("sin_cos", "cos_sin")
CLOCKS = ("start", "first_tick")


def gait_phase(case: PolicyCase, term: LayoutTerm) -> list[Finding]:
    """What is wrong with a phase that differs from the recorded one; empty: it is not known."""
    layout, found = case.observed
    places = layout.places()[term.index][0]
    recorded, here = found.recorded[:, places], found.here[:, places]
    if _halves_swapped(recorded, here, term):
        said = str(term.said.get("form", "sin_cos"))
        new = FORMS[1 - FORMS.index(said)]
        edit = repair("policy", f"{term.path}.form", new)
        form = "gait phase swapped"
        return [replay_finding("gait phase", term.name, new, said, form, 1.0, (edit,))]
    if not _is_phase(recorded, term):
        return []
    time = case.ticks.step[found.ticks].astype(float) * case.recording.timestep
    periods = [_period(v, time, term) for v in (recorded, here)]
    if periods[0] is None or periods[1] is None:
        return [_other_phase(term, "gait phase still")]
    if abs(periods[0] - periods[1]) < SAME_PHASE * periods[1]:
        return _shifted_phase(case, term, recorded, here, periods[1])
    if periods[0] < 0.0:
        return [_other_phase(term, "gait phase backwards")]
    key = "frequency" if "frequency" in term.said else "period"
    value = float(f"{1.0 / periods[0] if key == 'frequency' else periods[0]:.4g}")
    return [
        replay_finding(
            "gait phase",
            term.name,
            float(f"{periods[0]:.4g}"),
            float(f"{periods[1]:.4g}"),
            "gait phase period",
            1.0,
            (repair("policy", f"{term.path}.{key}", value),),
        )
    ]


def _other_phase(term: LayoutTerm, form: str) -> Finding:
    return replay_finding("gait phase", term.name, "another phase", "this phase", form, 1.0)


def _is_phase(values: FloatArray, term: LayoutTerm) -> bool:
    """Whether values can be a phase: sines and cosines of one angle, zeros while standing."""
    if term.said.get("form") == "phase":
        return bool(values.min() > -SAME_PHASE and values.max() < 1.0 + SAME_PHASE)
    half = values.shape[1] // 2
    size = values[:, :half] ** 2 + values[:, half:] ** 2
    return bool((np.minimum(np.abs(size - 1.0), np.abs(size)) < UNIT).all())


def _shifted_phase(
    case: PolicyCase, term: LayoutTerm, recorded: FloatArray, here: FloatArray, period: float
) -> list[Finding]:
    """A phase of the same period with another zero: another clock, or other offsets."""
    turning = np.stack([np.abs(v).max(axis=1) > TURNING for v in (recorded, here)])
    if (turning[0] != turning[1]).mean() > SAME_PHASE and term.said.get("form") != "phase":
        return [_other_phase(term, "gait phase stands")]
    both = turning.all(axis=0)
    if not both.any():
        return []
    ahead = _turns(recorded[both], term) - _turns(here[both], term)
    ahead = (ahead - ahead[:1] + 0.5) % 1.0 - 0.5 + ahead[:1]
    shift = (np.median(ahead, axis=0) + 0.5) % 1.0 - 0.5
    if np.abs(ahead - np.median(ahead, axis=0)).max() > SAME_PHASE:
        return [_other_phase(term, "gait phase drifts")]
    if _whole(shift):
        return []
    kind, ahead_by = "gait phase", [f"{s:+.3g}" for s in shift]
    clock, first = str(term.said.get("clock", "start")), _first_tick(case) / period
    other = CLOCKS[1 - CLOCKS.index(clock)] if clock in CLOCKS else clock
    if _whole(shift + (first if other == "first_tick" else -first)):
        edit = repair("policy", f"{term.path}.clock", other)
        there, now = (f"zero at the {c.replace('_', ' ')}" for c in (other, clock))
        return [replay_finding(kind, term.name, there, now, kind, 1.0, (edit,), ahead=ahead_by)]
    said = np.ravel(np.asarray(term.said.get("offsets", [0.0]), dtype=np.float64))
    new = [float(f"{v:.4g}") for v in (said + shift) % 1.0]
    edit = repair("policy", f"{term.path}.offsets", new)
    return [replay_finding(kind, term.name, new, said.tolist(), kind, 1.0, (edit,), ahead=ahead_by)]


def _whole(turns: FloatArray) -> bool:
    return bool(np.abs((turns + 0.5) % 1.0 - 0.5).max() < SAME_PHASE)


def _first_tick(case: PolicyCase) -> float:
    """When the policy ticks first, counted from where it begins [s]."""
    steps = {"inside": case.policy.tick_steps - 1, "after": case.policy.tick_steps}
    return steps.get(str(case.said.get("phase", "before")), 0) * case.recording.timestep


def _turns(values: FloatArray, term: LayoutTerm) -> FloatArray:
    """Phases in turns, (ticks, phases)."""
    form = term.said.get("form", "sin_cos")
    if form == "phase":
        return values
    half = values.shape[1] // 2
    first, second = values[:, :half], values[:, half:]
    sine, cosine = (first, second) if form == "sin_cos" else (second, first)
    found: FloatArray = np.arctan2(sine, cosine) / (2.0 * np.pi)
    return found


def _period(values: FloatArray, time: FloatArray, term: LayoutTerm) -> float | None:
    """Seconds per turn of a phase; None: it does not turn."""
    moving = np.abs(values).max(axis=1) > TURNING
    if term.said.get("form") == "phase":
        moving[:] = True
    if moving.sum() < 5:
        return None
    time = time[moving]
    turns = np.unwrap(2.0 * np.pi * _turns(values[moving], term)[:, 0])
    slope = np.median(np.diff(turns) / np.diff(time)) if len(time) > 2 else 0.0
    return float(2.0 * np.pi / slope) if abs(slope) > 1e-6 else None


def _halves_swapped(recorded: FloatArray, here: FloatArray, term: LayoutTerm) -> bool:
    if term.said.get("form", "sin_cos") not in FORMS:
        return False
    half = here.shape[1] // 2
    return error(recorded, np.concatenate([here[:, half:], here[:, :half]], axis=1)) < SAME
