"""The phase of a gait: its period, its form, its zero."""

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.findings import Finding
from mjrig.lab.replay.diagnosis.policy_case import LayoutTerm, PolicyCase, Recomputed
from mjrig.lab.replay.diagnosis.term_fit import SAME, error
from mjrig.lab.replay.finding import repair, replay_finding

#: Periods that differ by a smaller share are the same.
ALIKE = 5e-3
#: A shift of the phase that is constant to this is one [turns].
CONSTANT = 5e-3
#: Squares of a sine and its cosine add up to 1 within this.
UNIT = 0.05
FORMS = ("sin_cos", "cos_sin")
CLOCKS = ("start", "first_tick")


def gait_findings(case: PolicyCase, term: LayoutTerm, found: Recomputed) -> list[Finding]:
    """What is wrong with a phase that differs from the recorded one; empty: it is not known."""
    layout, timestep = case.layout, case.recording.timestep
    assert layout is not None
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
    time = case.ticks.step[found.ticks].astype(float) * timestep
    periods = [_period(v, time, term) for v in (recorded, here)]
    if periods[0] is None or periods[1] is None:
        return [_other(term, "gait phase still")]
    if abs(periods[0] - periods[1]) < ALIKE * periods[1]:
        return _shifted(case, term, recorded, here, periods[1])
    if periods[0] < 0.0:
        return [_other(term, "gait phase backwards")]
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


def _other(term: LayoutTerm, form: str) -> Finding:
    return replay_finding("gait phase", term.name, "another phase", "this phase", form, 1.0)


def _is_phase(values: FloatArray, term: LayoutTerm) -> bool:
    """Whether values can be a phase: sines and cosines of one angle, zeros while standing."""
    if term.said.get("form") == "phase":
        return bool(values.min() > -CONSTANT and values.max() < 1.0 + CONSTANT)
    half = values.shape[1] // 2
    size = values[:, :half] ** 2 + values[:, half:] ** 2
    return bool((np.minimum(np.abs(size - 1.0), np.abs(size)) < UNIT).all())


def _shifted(
    case: PolicyCase, term: LayoutTerm, recorded: FloatArray, here: FloatArray, period: float
) -> list[Finding]:
    """A phase of the same period with another zero: another clock, or other offsets."""
    turning = np.stack([np.abs(v).max(axis=1) > 0.1 for v in (recorded, here)])
    if (turning[0] != turning[1]).mean() > CONSTANT and term.said.get("form") != "phase":
        return [_other(term, "gait phase stands")]
    both = turning.all(axis=0)
    if not both.any():
        return []
    ahead = _turns(recorded[both], term) - _turns(here[both], term)
    ahead = (ahead - ahead[:1] + 0.5) % 1.0 - 0.5 + ahead[:1]
    shift = (np.median(ahead, axis=0) + 0.5) % 1.0 - 0.5
    if np.abs(ahead - np.median(ahead, axis=0)).max() > CONSTANT:
        return [_other(term, "gait phase drifts")]
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
    return bool(np.abs((turns + 0.5) % 1.0 - 0.5).max() < CONSTANT)


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
    moving = np.abs(values).max(axis=1) > 0.1
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
