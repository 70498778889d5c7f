"""Hypotheses about times: rate and phase of the ticks, the start, shifted setpoints, velocities."""

from collections.abc import Iterator, Mapping

import numpy as np

from mjrig.core.arrays import FloatArray
from mjrig.core.control.setpoints import POSITION
from mjrig.core.findings import Finding
from mjrig.core.names import listed
from mjrig.core.sim.plant_parameters import plant_of
from mjrig.lab.replay.diagnosis.hypothesis import (
    MIN_OFFSET,
    MIN_SAMPLES,
    ROUNDING,
    Alternative,
    Answers,
    NotJudged,
)
from mjrig.lab.replay.diagnosis.order_hypotheses import shifted
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase, real_ticks
from mjrig.lab.replay.diagnosis.predictions import size
from mjrig.lab.replay.diagnosis.replay_case import ReplayCase
from mjrig.lab.replay.finding import repair, replay_finding
from mjrig.lab.replay.repairs import joint_slots, one_or_each, resolved, some
from mjrig.lab.replay.start_state import start

# Ticks --------------------------------------------------------------------------------------------


PHASES = ("before", "inside", "after")
DURATION = "start.duration"


def ticks(case: PolicyCase) -> Iterator[Finding]:
    """Steps from tick to tick, and the step of the first tick."""
    rows = real_ticks(case.ticks)
    steps = case.ticks.step[rows]
    if len(steps) < MIN_SAMPLES:
        return
    every, here = round(float(np.median(np.diff(steps)))), case.policy.tick_steps
    if every != here:
        hz = [1.0 / (n * case.recording.timestep) for n in (every, here)]
        edit, kind = repair("policy", "decimation", every), "decimation"
        yield replay_finding(
            kind, "", every, here, kind, 1.0, (edit,), ticks=len(steps), rate=hz[0], rate_here=hz[1]
        )
        return
    found = _first_tick(case, int(steps[0]))
    if found is not None:
        yield found


def begins_later(case: PolicyCase) -> int:
    """Steps by which the policy began later in the recording than here, tick phase apart."""
    rows = real_ticks(case.ticks)
    found = _first_tick(case, int(case.ticks.step[rows[0]]))
    if found is None or found.kind != DURATION:
        return 0
    return int(case.ticks.step[rows[0]]) - _first(case, _said_phase(case))


def _said_phase(case: PolicyCase) -> str:
    return str(case.said.get("phase", "before"))


def _first(case: PolicyCase, phase: str, start: int | None = None) -> int:
    """The step of the first tick, for a tick phase and the step at which the policy begins."""
    every = case.policy.tick_steps
    later = {"before": 0, "inside": every - 1, "after": every}[phase]
    return (case.policy.stand_steps if start is None else start) + later


def _first_tick(case: PolicyCase, recorded: int) -> Finding | None:
    """Another first tick: the stand before it is longer or shorter, or the tick phase differs."""
    said, every = _said_phase(case), case.policy.tick_steps
    here = _first(case, said)
    if recorded == here:
        return None
    off = (recorded - here) % every
    off = off - every if off > every // 2 else off
    if not case.from_the_start:
        return _phase(case, recorded, here, off, "") if off else None
    ended = _end_of_stand(case)
    if ended is not None and ended != case.policy.stand_steps:
        return _duration(case, recorded, here, ended)
    phases = [p for p in PHASES if p != said and _first(case, p) == recorded]
    if phases:
        return _phase(case, recorded, here, off, phases[0])
    begins = recorded - _first(case, said, 0)
    if begins < 0 or (not case.policy.stand_steps and recorded < every):
        return _phase(case, recorded, here, off, "")
    return _duration(case, recorded, here, begins)


def _end_of_stand(case: PolicyCase) -> int | None:
    """The step at which the recording gives the robot its own gains; None: it does not."""
    changes = case.match.recorded.gain_changes
    own = [c.step for c in changes if c.gains is None]
    first = [c.step for c in changes if c.gains is not None]
    return own[0] if own and first and first[0] < own[0] else None


def _duration(case: PolicyCase, recorded: int, here: int, begins: int) -> Finding:
    timestep = case.recording.timestep
    value = float(f"{begins * timestep:.9g}")
    return replay_finding(
        DURATION,
        "",
        value,
        case.began,
        "start duration",
        1.0,
        (repair("policy", DURATION, value),),
        steps=[recorded, here],
        times=[recorded * timestep, here * timestep],
    )


def _phase(case: PolicyCase, recorded: int, here: int, off: int, wanted: str) -> Finding:
    """Ticks that fall on other steps; `wanted` is the tick phase that explains it."""
    late = "later" if recorded > here else "earlier"
    # A recording that begins while the policy runs shows where ticks are, not which is first.
    steps = (recorded - here) if wanted else off
    fix = (repair("policy", "phase", wanted),) if wanted else ()
    return replay_finding(
        "tick phase",
        "",
        wanted or f"first tick at step {recorded}",
        _said_phase(case) if wanted else f"first tick at step {here}",
        "tick phase",
        1.0,
        fix,
        first=[recorded, here],
        shift=abs(steps),
        when=late,
    )


# From the reset to the first tick -----------------------------------------------------------------


Values = Mapping[str, float]
#: Relative difference of gains that counts.
GAIN = 1e-3


def history_fill(case: PolicyCase) -> Answers:
    """What earlier values are before there are any."""
    layout, observation = case.layout, case.ticks.observation
    if layout is None or not layout.has_history:
        return
    if observation.shape[1] != case.policy.observation.size:
        return
    first = observation[real_ticks(case.ticks)[0]].astype(np.float64)
    shown = {"zeros": True, "first": True}
    is_shown = False
    for places in layout.places():
        now, before = first[places[0]], first[places[1:]]
        if not before.size or np.abs(now).max() < ROUNDING:
            continue
        is_shown = True
        shown["zeros"] &= bool(np.abs(before).max() < ROUNDING)
        shown["first"] &= bool(np.abs(before - now).max() < ROUNDING)
    if not is_shown or shown["zeros"] == shown["first"]:
        yield NotJudged("history.fill: the first recorded observation shows neither")
        return
    here = str(((case.said.get("observation") or {}).get("history") or {}).get("fill", "first"))
    recorded = "zeros" if shown["zeros"] else "first"
    if recorded != here:
        text = "zeros" if recorded == "zeros" else "the present values"
        edit, kind = repair("policy", "observation.history.fill", recorded), "history.fill"
        yield replay_finding(kind, "", recorded, here, kind, 1.0, (edit,), shown=text)


def _stand(case: PolicyCase) -> int:
    """Steps before the first recorded tick."""
    return int(case.ticks.step[real_ticks(case.ticks)[0]])


def start_gains(case: PolicyCase) -> Answers:
    """Gains while the robot stands, where the recording lists its gains."""
    stand = case.said.get("start") or {}
    if _stand(case) < 1 or (case.began <= 0.0 and not case.match.recorded.gain_changes):
        return
    joints = list(case.policy.joints)
    plant = plant_of(case.world, case.match.robot).joints
    for gain in ("kp", "kv"):
        recorded = _recorded_gains(case, gain)
        if not recorded:
            yield NotJudged(f"start.{gain}: the recording lists no gains")
            continue
        here = {j: plant.get(gain, {}).get(j, 0.0) for j in joints}
        if stand.get(gain) is not None and case.began > 0.0:
            values = resolved(stand[gain], joint_slots(case.file_joints), 0.0)
            here = dict(zip(joints, values.tolist(), strict=True))
        off = [j for j in joints if j in recorded and _differ(recorded[j], here[j])]
        if off:
            yield _start_gain(case, gain, off, recorded, here)


def _differ(a: float, b: float) -> bool:
    return abs(a - b) > GAIN * max(abs(a), abs(b))


def _start_gain(
    case: PolicyCase, gain: str, off: list[str], recorded: Values, here: Values
) -> Finding:
    joints, path = list(case.policy.joints), f"start.{gain}"
    new, old = ({j: float(f"{v[j]:.7g}") for j in off} for v in (recorded, here))
    authored = (case.said.get("start") or {}).get(gain)
    edited, now = new, old
    if authored is None:  # a gain of the stand is given for all joints or for none
        edited = {j: float(f"{recorded.get(j, here[j]):.7g}") for j in joints}
        now = {j: here[j] for j in joints}
    edit = case.joint_edit(path, authored, edited, now)
    there, value = one_or_each(new, old)
    where = "" if len(off) == len(joints) else listed(off)
    fix = (edit,) if case.began > 0.0 else ()
    return replay_finding(path, where, there, value, "start gains", 1.0, fix, steps=_stand(case))


def _recorded_gains(case: PolicyCase, gain: str) -> dict[str, float]:
    """Recorded gains at the first step, by names here."""
    actor, names = case.match.recorded, {a.name: b.name for a, b in case.match.single}
    found = {names[j]: v for j, v in actor.plant.joints.get(gain, {}).items() if j in names}
    for change in actor.gain_changes:
        if change.step <= int(actor.step[0]) and change.gains is not None:
            for joint, value in zip(actor.driven, change.gains.get(gain, ()), strict=False):
                if joint in names and np.isfinite(value):
                    found[names[joint]] = float(value)
    return found


def start_target(case: PolicyCase) -> Iterator[Finding]:
    """Positions held until the first tick."""
    joints = list(case.policy.joints)
    if _stand(case) < 1 or case.match.recorded.commands is None:
        return
    start(case.world, case.recording, case.matches)
    columns = [_column(case, j) for j in joints]
    here: FloatArray = case.match.robot.setpoints.values[POSITION, columns].copy()
    recorded = case.targets_at(joints, np.arange(min(_stand(case), 2)), "position")[-1]
    off = np.flatnonzero(np.abs(recorded - here) > MIN_OFFSET)
    if not off.size:
        return
    pose = case.policy.plant().joints.get("default_pose", {})
    default = np.array([pose.get(j, 0.0) for j in joints])
    is_default = np.abs(recorded - default).max() < MIN_OFFSET
    new = "default" if is_default else [float(f"{v:.6g}") for v in recorded]
    authored = (case.said.get("start") or {}).get("target", "default")
    there, now = ({joints[i]: float(f"{v[i]:.6g}") for i in off} for v in (recorded, here))
    kind = "start.target"
    yield replay_finding(
        kind,
        some([joints[i] for i in off]),
        new if is_default else there,
        authored if isinstance(authored, str) else now,
        "start target",
        1.0,
        (repair("policy", kind, new),),
        largest=float(np.abs(recorded - here).max()),
        largest_unit=case.unit_of(joints[i] for i in off),
    )


def _column(case: PolicyCase, joint: str) -> int:
    robot = case.match.robot
    binding = next(b for b in robot.actuators if joint in (b.joint, b.actuator))
    return robot.actuator_names.index(binding.actuator)


# Velocities ---------------------------------------------------------------------------------------


#: Steps that show a factor between velocities and positions.
MIN_STEPS = 10
#: A unit is another if its factor differs by more than this share, and leaves less: backward
#: differences of positions differ from velocities by some percent.
OTHER_UNIT = 0.1


def velocity_units(case: PolicyCase) -> Iterator[Finding]:
    """Recorded velocities against the change of recorded positions, where every step is there."""
    recorded = case.match.recorded
    columns = [j for j, _ in case.match.single]
    if recorded.qvel is None or not columns:
        return
    rows = np.flatnonzero(np.diff(recorded.step) == 1)
    q = recorded.qpos[:, [j.qpos.start for j in columns]]
    v = recorded.qvel[:, [j.dof.start for j in columns]][rows + 1]
    moved = (q[rows + 1] - q[rows]) / case.recording.timestep
    moving = float(np.sum(moved * moved))
    if len(rows) < MIN_STEPS or moving < ROUNDING:
        return
    factor = float(np.sum(v * moved)) / moving
    rest = float(np.sqrt(np.sum((v - factor * moved) ** 2) / np.sum(v * v))) if v.any() else 1.0
    if abs(factor - 1.0) > OTHER_UNIT and rest < OTHER_UNIT:
        yield replay_finding(
            "velocity units",
            "",
            f"{factor:.4g} times the change of positions",
            "the change of positions",
            "velocity units",
            1.0,
            factor=factor,
            residual=rest,
            in_degrees=bool(abs(factor - np.degrees(1.0)) < 0.5),
        )


# Setpoints ----------------------------------------------------------------------------------------


#: Shifts of setpoints that are tried: steps within a tick at most, and whole ticks.
NEAR, TICKS = 10, 3


def shifted_setpoints(case: ReplayCase) -> Iterator[Alternative]:
    """Setpoints some steps earlier or later: those that short predictions fit best."""
    for steps in _shifts(case):
        when = "later" if steps > 0 else "earlier"
        count = "one step" if abs(steps) == 1 else f"{abs(steps)} steps"
        values = {"shift": count.replace(" ", " physics "), "when": when}
        there, form = f"{count} {when}", "tick phase shifted"
        finding = replay_finding("tick phase", "", "as recorded", there, form, **values)
        yield case.reading(finding, shifted(case.recording, steps))


def _shifts(case: ReplayCase) -> list[int]:
    """Shifts worth a run [steps]."""
    segments = case.segments
    if segments is None:
        return [-1, 1]
    commands = segments.pair.recorded.commands
    assert commands is not None
    moved = np.flatnonzero(np.abs(np.diff(commands.position, axis=0)).max(axis=1) > 0.0)
    gaps = np.diff(commands.step[moved + 1]) if len(moved) > 2 else np.ones(1)
    tick = max(1, round(float(np.median(gaps))))
    steps = sorted({*range(1, min(tick, NEAR) + 1), *(n * tick for n in range(1, TICKS + 1))})
    missed = {d: size(segments.miss(shifted(case.recording, d))) for n in steps for d in (-n, n)}
    return sorted({-1, 1, min(missed, key=lambda d: missed[d])})
