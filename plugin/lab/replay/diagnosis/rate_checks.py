"""Rate, tick phase and joint order of a policy against its recorded ticks; no simulation."""

from collections.abc import Iterator

import numpy as np

from mjrig.core.findings import Finding
from mjrig.core.names import how_many
from mjrig.lab.replay.diagnosis.policy_case import PolicyCase, real_ticks
from mjrig.lab.replay.finding import repair, replay_finding

PHASES = ("before", "inside", "after")
DURATION = "start.duration"


def check_rate(case: PolicyCase) -> Iterator[Finding]:
    """Steps from tick to tick, and the step of the first tick."""
    rows = real_ticks(case.ticks)
    steps = case.ticks.step[rows]
    if len(steps) < 3:
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


def check_velocities(case: PolicyCase) -> Iterator[Finding]:
    """Recorded velocities against the change of recorded positions, where every step is there."""
    recorded = case.match.recorded
    columns = [j for j, _ in case.match.single]
    if recorded.qvel is None or not columns:
        return
    rows = np.flatnonzero(np.diff(recorded.step) == 1)
    q = recorded.qpos[:, [j.qpos.start for j in columns]]
    v = recorded.qvel[:, [j.dof.start for j in columns]][rows + 1]
    moved = (q[rows + 1] - q[rows]) / case.recording.timestep
    size = float(np.sum(moved * moved))
    if len(rows) < 10 or size < 1e-6:
        return
    factor = float(np.sum(v * moved)) / size
    rest = float(np.sqrt(np.sum((v - factor * moved) ** 2) / np.sum(v * v))) if v.any() else 1.0
    if abs(factor - 1.0) > 0.1 and rest < 0.1:
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


def check_names(case: PolicyCase) -> Iterator[Finding]:
    """The order of the joints, where the recording states it."""
    here, recorded = list(case.policy.joints), list(case.joints)
    if here == recorded or sorted(here) != sorted(recorded):
        return
    moved = sum(a != b for a, b in zip(here, recorded, strict=True))
    edit, many = repair("policy", "joints", recorded), how_many(moved, "joint")
    yield replay_finding("joint order", many, recorded, here, "joint order listed", 1.0, (edit,))
